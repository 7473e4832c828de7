"""Reciprocal rank; its mean over users is MRR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dmrank.metrics.base import Metric
from dmrank.support.arrays import Floats

if TYPE_CHECKING:
    from dmrank.metrics.base import RankedItems


@dataclass(frozen=True)
class ReciprocalRank(Metric):
    """One over the rank of the first test item, whatever its gain.

    Examples
    --------
    >>> metric = ReciprocalRank()
    >>> print(metric, metric([4, 2], [5.0, 3.0], pointer=[0, 2]))
    rr [0.5]
    """

    def __str__(self) -> str:
        return "rr"

    def per_user(self, items: RankedItems) -> Floats:
        """Return the reciprocal of the first rank of each user."""
        best = np.zeros(len(items.counts))
        np.maximum.at(best, items.users, 1 / items.ranks)
        return best
