"""The kinds of models that several models share."""
