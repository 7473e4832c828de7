"""Ranking metrics: one small object each, from arrays to one value per user.

Examples
--------
>>> metric = parse_metric("ndcg@10")
>>> print(metric, metric(ranks=[1, 3], gains=[5.0, 4.0], pointer=[0, 1, 2]))
ndcg@10 [1.  0.5]
"""

from dmrank.metrics.average_precision import AveragePrecision
from dmrank.metrics.base import Metric, RankedItems
from dmrank.metrics.contrast import contrast_accuracy
from dmrank.metrics.coverage import Coverage
from dmrank.metrics.cutoff import HitRate, Precision, Recall, UnbiasedRecall
from dmrank.metrics.lift import Lifts, list_lifts
from dmrank.metrics.names import parse_any_metric, parse_metric
from dmrank.metrics.ndcg import NDCG
from dmrank.metrics.pair_accuracy import PairAccuracy, pair_accuracy
from dmrank.metrics.reciprocal_rank import ReciprocalRank
from dmrank.metrics.whole import Contrast, ListLift, WholeMetric

__all__ = [
    "NDCG",
    "AveragePrecision",
    "Contrast",
    "Coverage",
    "HitRate",
    "Lifts",
    "ListLift",
    "Metric",
    "PairAccuracy",
    "Precision",
    "RankedItems",
    "Recall",
    "ReciprocalRank",
    "UnbiasedRecall",
    "WholeMetric",
    "contrast_accuracy",
    "list_lifts",
    "pair_accuracy",
    "parse_any_metric",
    "parse_metric",
]
