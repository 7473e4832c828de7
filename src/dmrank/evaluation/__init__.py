"""Protocols that judge models."""

from dmrank.evaluation.judge import evaluate
from dmrank.evaluation.rated_pairs import RatedPairs, rated_pairs
from dmrank.evaluation.report import Report
from dmrank.evaluation.significance import Comparison, compare_with_best

__all__ = [
    "Comparison",
    "RatedPairs",
    "Report",
    "compare_with_best",
    "evaluate",
    "rated_pairs",
]
