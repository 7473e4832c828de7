"""From tables of any kind to Ratings."""
