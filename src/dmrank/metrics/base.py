"""What every ranking metric shares: the flat layout of the users' test items, and the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dmrank.support.arrays import Floats, Int64s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class RankedItems:
    """The ranked test items of all users, one after the other.

    Attributes
    ----------
    users
        User of each item, ascending.
    ranks
        1-based rank of each item in its user's list.
    gains
        What each item is worth to its user.
    counts
        Number of ranked items of each user.
    propensities
        How likely each item was to be met; all alike if that is not known.
    """

    users: Int64s
    ranks: Floats
    gains: Floats
    counts: Int64s
    propensities: Floats

    @classmethod
    def from_flat(
        cls,
        ranks: ArrayLike,
        gains: ArrayLike,
        pointer: ArrayLike,
        propensities: ArrayLike | None = None,
    ) -> RankedItems:
        """Read the flat layout: the items of user u are those from pointer[u] to pointer[u+1].

        An item of rank 0 takes no part: it has no rating on the aspect.
        """
        ranks = np.asarray(ranks, dtype=np.float64)
        gains = np.asarray(gains, dtype=np.float64)
        users, n_users = row_users(pointer)
        met = np.ones(len(ranks)) if propensities is None else np.asarray(propensities, np.float64)
        if not len(ranks) == len(gains) == len(users) == len(met):
            raise DataError(
                f"{len(ranks)} ranks, {len(gains)} gains, {len(met)} propensities and a pointer to "
                f"{len(users)} items: give one of each per item"
            )
        if not ((met > 0) & (met <= 1)).all():
            raise DataError("propensities must be above 0 and at most 1: they are probabilities")
        ranked = ranks > 0
        counts = np.bincount(users[ranked], minlength=n_users)
        return cls(users[ranked], ranks[ranked], gains[ranked], counts, met[ranked])

    def sum(self, values: Floats) -> Floats:
        """Add up one value per item to one per user."""
        return sum_per_user(values, self.users, len(self.counts))

    def positions(self, key: Floats) -> Floats:
        """Return the 1-based position of each item in its user's list ordered by ascending key."""
        order = np.lexsort((key, self.users))
        starts = np.cumsum(self.counts) - self.counts
        positions = np.empty(len(order))
        positions[order] = np.arange(len(order)) - starts[self.users] + 1
        return positions


class Metric(ABC):
    """A ranking metric: from the ranks of the users' test items to one value per user.

    A metric of one's own implements `per_user`, and prints as its name in a report: that of its
    class, unless it has a `__str__`. One of ours prints as the name that `parse_metric` reads.

    Examples
    --------
    Whether the first place is a test item's:

    >>> class First(Metric):
    ...     def per_user(self, items):
    ...         return items.sum(items.ranks == 1)
    >>> print(First(), First()(ranks=[1, 3, 2], gains=[5.0, 4.0, 4.0], pointer=[0, 2, 3]))
    First [1. 0.]
    """

    def __call__(
        self,
        ranks: ArrayLike,
        gains: ArrayLike,
        pointer: ArrayLike,
        *,
        propensities: ArrayLike | None = None,
    ) -> Floats:
        """Measure every user's ranking.

        Parameters
        ----------
        ranks
            1-based rank of each test item, ties counted against the model; 0 leaves an item out.
        gains
            What each test item is worth: its rating.
        pointer
            The items of user u are those from pointer[u] to pointer[u+1].
        propensities
            How likely each test item was to be met, for metrics that make up for that; by default
            all alike. `evaluate` gives (n / largest n)^½, n the training ratings of the item.

        Returns
        -------
        numpy.ndarray
            One value per user, NaN for a user without a test item.
        """
        items = RankedItems.from_flat(ranks, gains, pointer, propensities)
        values = np.asarray(self.per_user(items), dtype=np.float64)
        if values.shape != items.counts.shape:
            raise DataError(
                f"{self} gave values of shape {values.shape} for {len(items.counts):,} users: "
                "return one value per user"
            )
        return np.where(items.counts > 0, values, np.nan)

    @abstractmethod
    def per_user(self, items: RankedItems) -> Floats:
        """Return one value per user; that of a user without items is ignored."""

    def __str__(self) -> str:
        return type(self).__name__


def row_users(pointer: ArrayLike) -> tuple[Int64s, int]:
    """Return the user of each row of the flat layout, and the number of users.

    Examples
    --------
    >>> row_users([0, 2, 2, 3])
    (array([0, 0, 2]), 3)
    """
    bounds = np.asarray(pointer, dtype=np.int64)
    sizes = bounds[1:] - bounds[:-1]
    return np.repeat(np.arange(len(sizes)), sizes), len(sizes)


def sum_per_user(values: NDArray[np.number], users: Int64s, n_users: int) -> Floats:
    """Add up one value per row to one per user.

    Examples
    --------
    >>> sum_per_user(np.array([1.0, 2.0, 3.0]), users=np.array([0, 0, 2]), n_users=3)
    array([3., 0., 3.])
    """
    sums = np.bincount(users, weights=values, minlength=n_users)
    return np.asarray(sums, dtype=np.float64)
