"""The service: a fitted model over HTTP, and a page for people who choose."""
