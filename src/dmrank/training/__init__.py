"""Training: sampled pairs, AdaGrad, and the loop around them."""
