"""One file per kind of question that the service answers."""
