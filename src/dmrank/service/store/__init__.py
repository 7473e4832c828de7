"""Where ratings are kept that people give while a model is served: SQLite or PostgreSQL."""
