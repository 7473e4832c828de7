"""How well fitted models do on held-out ratings: protocols, pairs, significance, reports."""

from dmrank.data.activity import GROUP_LABELS, GROUPS
from dmrank.evaluation.adapters.adapt import adapt
from dmrank.evaluation.confidence_levels import (
    CalibrationCurve,
    ConfidenceLevels,
    calibration_curve,
    confidence_levels,
    order_probability,
    pair_confidence,
)
from dmrank.evaluation.explanation_error import ExplanationError, explains, explanation_error
from dmrank.evaluation.judge import evaluate
from dmrank.evaluation.lift import Lift, lift
from dmrank.evaluation.order_pairs import OrderPairs, any_pairs, rated_pairs
from dmrank.evaluation.report import Report
from dmrank.evaluation.significance import PairedTest, bootstrap_interval, compare_with_best
from dmrank.evaluation.user_groups import group_sizes, user_groups

__all__ = [
    "GROUPS",
    "GROUP_LABELS",
    "CalibrationCurve",
    "ConfidenceLevels",
    "ExplanationError",
    "Lift",
    "OrderPairs",
    "PairedTest",
    "Report",
    "adapt",
    "any_pairs",
    "bootstrap_interval",
    "calibration_curve",
    "compare_with_best",
    "confidence_levels",
    "evaluate",
    "explains",
    "explanation_error",
    "group_sizes",
    "lift",
    "order_probability",
    "pair_confidence",
    "rated_pairs",
    "user_groups",
]
