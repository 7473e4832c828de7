"""Metrics by name: `ndcg@10` is `NDCG(10)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmrank.errors import ConfigError, did_you_mean
from dmrank.metrics.average_precision import AveragePrecision
from dmrank.metrics.ndcg import NDCG

if TYPE_CHECKING:
    from dmrank.metrics.base import Metric
    from dmrank.metrics.ndcg import Gains

_NDCG_GAINS: dict[str, Gains] = {"ndcg": "linear", "ndcg-exponential": "exponential"}
_EXAMPLES = ("ndcg@10", "ndcg-exponential@10", "ap")


def parse_metric(name: str) -> Metric:
    """Return the metric that prints as this name.

    Parameters
    ----------
    name
        ``ndcg@k`` or ``ndcg-exponential@k`` with a depth k, or ``ap``.

    Examples
    --------
    >>> parse_metric("ndcg@10")
    NDCG(k=10, gains='linear')
    >>> parse_metric("ndgc@10")
    Traceback (most recent call last):
    ...
    dmrank.errors.ConfigError: no metric 'ndgc@10': did you mean 'ndcg@10'?
    """
    spelled = name.strip().lower()
    if spelled == "ap":
        return AveragePrecision()
    kind, _, depth = spelled.partition("@")
    if kind in _NDCG_GAINS and depth.isdecimal():
        return NDCG(int(depth), _NDCG_GAINS[kind])
    raise ConfigError(f"no metric {name!r}: {did_you_mean(spelled, _EXAMPLES)}")
