"""New users, items and ratings, without training again."""
