"""Binary metrics of the first k places: precision, recall and hit rate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dmrank.metrics.base import Metric
from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from dmrank.metrics.base import RankedItems


@dataclass(frozen=True)
class CutoffMetric(Metric):
    """A metric of how many of a user's n test items are among the first k places.

    Every test item counts the same, whatever its gain. k may be larger than the list: then all
    test items are among the first k.

    Parameters
    ----------
    k
        Depth, at least 1.
    """

    k: int
    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"{self}: give a depth of at least 1, such as {self.name}@10")

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"

    def per_user(self, items: RankedItems) -> Floats:
        """Return the value of each user."""
        found = items.sum((items.ranks <= self.k).astype(np.float64))
        return self._of_found(found, items.counts.astype(np.float64))

    @abstractmethod
    def _of_found(self, found: Floats, counts: Floats) -> Floats:
        """Return the value of each user, given the items found and the items there are."""


@dataclass(frozen=True)
class Precision(CutoffMetric):
    """Share of the first k places that are test items: found / k.

    Examples
    --------
    >>> metric = Precision(2)
    >>> print(metric, metric([1, 4], [5.0, 3.0], pointer=[0, 2]))
    precision@2 [0.5]
    """

    name = "precision"

    def _of_found(self, found: Floats, counts: Floats) -> Floats:  # noqa: ARG002
        return found / self.k


@dataclass(frozen=True)
class Recall(CutoffMetric):
    """Share of the test items that are among the first k places: found / n.

    Examples
    --------
    >>> metric = Recall(10)
    >>> print(metric, metric([1, 40], [5.0, 3.0], pointer=[0, 2]))
    recall@10 [0.5]
    """

    name = "recall"

    def _of_found(self, found: Floats, counts: Floats) -> Floats:
        return found / np.maximum(counts, 1)


@dataclass(frozen=True)
class UnbiasedRecall(CutoffMetric):
    """Recall as if all items were equally likely to be met: each counts 1/propensity.

    The self-normalised estimator (Swaminathan and Joachims, NIPS 2015; of ranking metrics: Yang et
    al., RecSys 2018): Σ_found 1/θ over Σ 1/θ of the user's test items. Lists of what is popular
    anyway gain nothing by that.

    Examples
    --------
    >>> metric = UnbiasedRecall(10)
    >>> print(metric, metric([1, 40], [5.0, 3.0], pointer=[0, 2], propensities=[1.0, 0.25]))
    unbiased-recall@10 [0.2]
    """

    name = "unbiased-recall"

    def per_user(self, items: RankedItems) -> Floats:
        """Return the value of each user."""
        weights = 1 / items.propensities
        found = items.sum(np.where(items.ranks <= self.k, weights, 0.0))
        return self._of_found(found, items.sum(weights))

    def _of_found(self, found: Floats, counts: Floats) -> Floats:
        return np.divide(found, counts, out=np.zeros_like(found), where=counts > 0)


@dataclass(frozen=True)
class HitRate(CutoffMetric):
    """Whether any test item is among the first k places.

    Examples
    --------
    >>> metric = HitRate(10)
    >>> print(metric, metric([8, 40, 12], [5.0, 3.0, 4.0], pointer=[0, 2, 3]))
    hit@10 [1. 0.]
    """

    name = "hit"

    def _of_found(self, found: Floats, counts: Floats) -> Floats:  # noqa: ARG002
        return (found > 0).astype(np.float64)
