"""The card of a model: what it was trained on, how well it does, and whom it serves badly."""
