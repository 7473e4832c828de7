"""Average precision; its mean over users is MAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dmrank.metrics.base import Metric
from dmrank.support.arrays import Floats

if TYPE_CHECKING:
    from dmrank.metrics.base import RankedItems


@dataclass(frozen=True)
class AveragePrecision(Metric):
    r"""Mean, over a user's test items, of the precision of the list down to that item.

    .. math::
        \mathrm{AP} = \frac{1}{n} \sum_{j=1}^{n} \frac{j}{\mathrm{rank}_{(j)}}

    where rank₍ⱼ₎ is the j-th smallest rank of the user's n test items. Every test item counts the
    same, whatever its gain, and the list is not cut off.

    Examples
    --------
    One user whose two items are ranked first and fourth:

    >>> metric = AveragePrecision()
    >>> print(metric, metric([1, 4], [5.0, 3.0], pointer=[0, 2]))
    ap [0.75]
    """

    def __str__(self) -> str:
        return "ap"

    def per_user(self, items: RankedItems) -> Floats:
        """Return the average precision of each user."""
        precision = items.positions(items.ranks) / items.ranks
        return items.sum(precision) / np.maximum(items.counts, 1)
