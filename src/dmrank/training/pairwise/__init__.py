"""Training on pairs of items: sampling, AdaGrad, and the step of each model."""
