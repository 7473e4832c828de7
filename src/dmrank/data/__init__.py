"""Ratings and all that is known of them before a model: ids, scale, rows, statistics."""
