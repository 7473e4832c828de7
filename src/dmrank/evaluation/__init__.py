"""Protocols that judge models."""

from dmrank.evaluation.rated_pairs import RatedPairs, rated_pairs

__all__ = ["RatedPairs", "rated_pairs"]
