"""Metrics by name: `ndcg@10` is `NDCG(10)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmrank.metrics.average_precision import AveragePrecision
from dmrank.metrics.base import Metric
from dmrank.metrics.coverage import Coverage
from dmrank.metrics.cutoff import HitRate, Precision, Recall, UnbiasedRecall
from dmrank.metrics.ndcg import NDCG
from dmrank.metrics.reciprocal_rank import ReciprocalRank
from dmrank.metrics.whole import Contrast, ListLift, WholeMetric
from dmrank.support.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable


AnyMetric = Metric | Coverage | WholeMetric

#: Metrics of a whole list; the mean of `ap` over users is MAP, that of `rr` MRR.
_WHOLE: dict[str, Callable[[], Metric]] = {
    "ap": AveragePrecision,
    "map": AveragePrecision,
    "rr": ReciprocalRank,
    "mrr": ReciprocalRank,
}
_OF_MODEL: dict[str, WholeMetric] = {
    str(metric): metric for metric in (Contrast(), Contrast(calibrated=True))
}
_TO_DEPTH: dict[str, Callable[[int], AnyMetric]] = {
    "ndcg": NDCG,
    "ndcg-exponential": lambda k: NDCG(k, "exponential"),
    "precision": Precision,
    "recall": Recall,
    "unbiased-recall": UnbiasedRecall,
    "hit": HitRate,
    "coverage": Coverage,
    "lift": ListLift,
    "specific-lift": lambda k: ListLift(k, specific=True),
}


def parse_metric(name: str) -> Metric:
    """Return the metric that prints as this name and has a value per user.

    Parameters
    ----------
    name
        With a depth k: ``ndcg@k``, ``ndcg-exponential@k``, ``precision@k``, ``recall@k``,
        ``unbiased-recall@k``, ``hit@k``. Of the whole list: ``ap`` (or ``map``, its mean over
        users) and ``rr`` (``mrr``).

    Examples
    --------
    >>> parse_metric("ndcg@10")
    NDCG(k=10, gains='linear')
    >>> parse_metric("ndgc@10")
    Traceback (most recent call last):
    ...
    dmrank.ConfigError: no metric 'ndgc@10': did you mean 'ndcg@10'?
    """
    metric = parse_any_metric(name)
    if not isinstance(metric, Metric):
        raise ConfigError(
            f"{metric} is one value of all users together, but here every user needs one: give a "
            "metric such as 'ndcg@10'"
        )
    return metric


def parse_any_metric(name: str) -> AnyMetric:
    """Return the metric that prints as this name, those of all users together included.

    Parameters
    ----------
    name
        As for `parse_metric`, ``coverage@k``, or of the model as a whole: ``contrast``,
        ``contrast-calibrated``, ``lift@k`` and ``specific-lift@k``.

    Examples
    --------
    >>> parse_any_metric("coverage@10")
    Coverage(k=10)
    """
    spelled = name.strip().lower()
    if spelled in _WHOLE:
        return _WHOLE[spelled]()
    if spelled in _OF_MODEL:
        return _OF_MODEL[spelled]
    kind, _, depth = spelled.partition("@")
    if kind in _TO_DEPTH and depth.isdecimal():
        return _TO_DEPTH[kind](int(depth))
    known = [*(f"{kind}@10" for kind in _TO_DEPTH), *_WHOLE, *_OF_MODEL]
    raise ConfigError(f"no metric {name!r}: {did_you_mean(spelled, known)}")
