"""Other libraries' models and results, by id, beside our models."""
