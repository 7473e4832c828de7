"""Normalised discounted cumulative gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dmrank.metrics.base import Metric
from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dmrank.metrics.base import RankedItems

Gains = Literal["linear", "exponential"]


@dataclass(frozen=True)
class NDCG(Metric):
    r"""Discounted gain of the first k places, relative to the best order of the test items.

    .. math::
        \mathrm{DCG@}k = \sum_{i:\, \mathrm{rank}_i \le k} \frac{g_i}{\log_2(\mathrm{rank}_i + 1)},
        \qquad \mathrm{NDCG@}k = \frac{\mathrm{DCG@}k}{\mathrm{IDCG@}k}

    where IDCG@k is the DCG@k of the user's test items in descending order of gain. It is 0 for a
    user whose test items are all worth nothing.

    Parameters
    ----------
    k
        Depth, at least 1.
    gains
        "linear": g is the rating r. "exponential": g = 2^r − 1.

    Examples
    --------
    One user whose items, rated 5 and 3, are ranked second and first:

    >>> metric = NDCG(10)
    >>> print(metric, metric([2, 1], [5.0, 3.0], pointer=[0, 2]).round(4))
    ndcg@10 [0.8929]
    """

    k: int
    gains: Gains = "linear"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"ndcg@{self.k}: give a depth of at least 1, such as ndcg@10")
        if self.gains not in get_args(Gains):
            raise ConfigError(f"gains={self.gains!r}: give one of {', '.join(get_args(Gains))}")

    def __str__(self) -> str:
        return f"ndcg@{self.k}" if self.gains == "linear" else f"ndcg-{self.gains}@{self.k}"

    def per_user(self, items: RankedItems) -> Floats:
        """Return DCG over IDCG of each user."""
        if not (items.gains >= 0).all():
            raise DataError(f"{self} of a gain below 0 or NaN: shift the ratings to start at 0")
        gains = items.gains if self.gains == "linear" else np.exp2(items.gains) - 1
        dcg = items.sum(gains * self._discount(items.ranks))
        ideal = items.sum(gains * self._discount(items.positions(-gains)))
        return np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)

    def _discount(self, ranks: Floats) -> Floats:
        return np.where(ranks <= self.k, 1 / np.log2(ranks + 1), 0.0)
