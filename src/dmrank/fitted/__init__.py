"""What a fit leaves behind, and the contract of a model."""
