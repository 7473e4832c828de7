"""Training by exact solutions: alternating least squares, multiplicative updates."""
