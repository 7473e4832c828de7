"""Items that a user has not rated, drawn uniformly without trying until one fits."""

from __future__ import annotations

import numpy as np

from dmrank.data.ratings import Split
from dmrank.support.arrays import Int64s


class Opponents:
    """Items with a training row that a user rated neither in training nor in validation.

    Attributes
    ----------
    free : int64 array
        How many each user has.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> opponents = Opponents(make_ratings(50, 20, 500, seed=1).ratings.split())
    >>> opponents.free[:3]
    array([15,  2, 18])
    """

    def __init__(self, split: Split) -> None:
        items = ~split.cold_items
        self._items = np.flatnonzero(items)
        self._place = np.cumsum(items) - 1
        # A key orders places by user; places go from 0 to the number of items.
        self._stride = len(self._items) + 1
        parts = (split.train, split.validation)
        row_users = np.concatenate([part.user_codes for part in parts]).astype(np.int64)
        row_items = np.concatenate([part.item_codes for part in parts])
        counted = items[row_items]
        self._rated = np.unique(row_users[counted] * self._stride + self._place[row_items[counted]])
        users = self._rated // self._stride
        counts = np.bincount(users, minlength=len(split.train.users))
        self.free: Int64s = len(self._items) - counts
        self._start = np.cumsum(counts) - counts
        # Free items before each rated one, which do not descend within a user.
        self._free_before = self._rated - (np.arange(len(users)) - self._start[users])

    def draw(self, users: Int64s, items: Int64s, rng: np.random.Generator) -> Int64s:
        """Draw for each user one of the free items other than the given free one."""
        own = self._place[items]
        own_number = own - self._count_of_user(self._rated, users, own)
        number = rng.integers(self.free[users] - 1)
        number += number >= own_number
        # After the n-th free item (from 0) come the rated ones with more than n free before them.
        rated_before = self._count_of_user(self._free_before, users, number + 1)
        return self._items[number + rated_before]

    def _count_of_user(self, keys: Int64s, users: Int64s, places: Int64s) -> Int64s:
        """Return how many of each user's keys are below a place."""
        below = np.searchsorted(keys, users * self._stride + places, side="left")
        return np.asarray(below - self._start[users])
