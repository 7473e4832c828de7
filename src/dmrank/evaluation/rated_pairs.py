"""Which of two items that a user rated did the user like better? (design section 3, `rated`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmrank.metrics import PairAccuracy, pair_accuracy
from dmrank.models.base import Model
from dmrank.ratings import Ratings, Split


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs of test rows, grouped by user.

    Attributes
    ----------
    first, second : int arrays
        Rows of the test part.
    pointer : int64 array
        Pairs of the n-th user that has any are `pointer[n]` to `pointer[n + 1]`.
    test : Ratings
        The test part.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    pointer: NDArray[np.int64]
    test: Ratings

    def accuracy(self, model: Model) -> PairAccuracy:
        """Return how often the model has the observed order, aspect by aspect."""
        test = self.test
        users, items = test.users.names(test.user_codes), test.items.names(test.item_codes)
        scores = model.predict(users.to_list(), items.to_list(), raw=True)
        return self.accuracy_of(scores)

    def accuracy_of(self, scores: NDArray[np.floating]) -> PairAccuracy:
        """Return how often scores (one row per test row) have the observed order."""
        values = self.test.values
        return pair_accuracy(
            values[self.first] - values[self.second],
            scores[self.first] - scores[self.second],
            self.pointer,
        )


def rated_pairs(split: Split, most_per_user: int = 50, seed: int = 0) -> RatedPairs:
    """Take all pairs of items that a user rated in test, up to so many per user.

    Rows of users or items without a training row are left out.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> pairs = rated_pairs(make_ratings(50, 20, 500).ratings.split())
    >>> test = pairs.test
    >>> bool((test.user_codes[pairs.first] == test.user_codes[pairs.second]).all())
    True
    """
    warm = np.flatnonzero(~split.cold_rows(split.test))
    test = split.test.select(warm)
    rng = np.random.default_rng(seed)
    first, second, counts = [], [], []
    for start, end in zip(test.user_pointer[:-1], test.user_pointer[1:], strict=True):
        rows = end - start
        if rows < 2:
            continue
        i, j = np.triu_indices(rows, 1)
        if len(i) > most_per_user:
            chosen = np.sort(rng.choice(len(i), size=most_per_user, replace=False))
            i, j = i[chosen], j[chosen]
        first.append(start + i)
        second.append(start + j)
        counts.append(len(i))
    if not counts:
        empty = np.empty(0, dtype=np.int64)
        return RatedPairs(empty, empty, np.zeros(1, dtype=np.int64), test)
    pointer = np.concatenate([[0], np.cumsum(counts)])
    return RatedPairs(np.concatenate(first), np.concatenate(second), pointer, test)
