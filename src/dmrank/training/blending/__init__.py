"""Weights with which the scores of several models are blended."""
