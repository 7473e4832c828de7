"""How items were rated and how users rate, on average: what an explanation points at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmrank.ratings import Ratings


class Evidence(NamedTuple):
    """Means of training ratings on their own scale, NaN where there is none, and how many.

    Attributes
    ----------
    item_means, item_counts : float32 and int32 arrays, N × K
        Of the ratings of each item on each aspect.
    user_means, user_counts : float32 and int32 arrays, M × K
        Of the ratings by each user.
    """

    item_means: NDArray[np.float32]
    item_counts: NDArray[np.int32]
    user_means: NDArray[np.float32]
    user_counts: NDArray[np.int32]

    @classmethod
    def of(cls, ratings: Ratings) -> Evidence:
        """Average the training ratings."""
        return cls(
            *averages(ratings.item_codes, ratings.values, len(ratings.items)),
            *averages(ratings.user_codes, ratings.values, len(ratings.users)),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Evidence | None:
        """Take the arrays of a model file, if it has them."""
        given = [arrays.get(f"catalogue.{name}") for name in cls._fields]
        return None if any(array is None for array in given) else cls(*given)  # type: ignore[arg-type]


def averages(
    keys: NDArray[np.integer], values: NDArray[np.float32], size: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return mean and number of the known values of each key, one column per aspect.

    Examples
    --------
    >>> averages(np.array([0, 0, 1]), np.float32([[1], [4], [np.nan]]), size=2)
    (array([[2.5],
           [nan]], dtype=float32), array([[2],
           [0]], dtype=int32))
    """
    known = ~np.isnan(values)
    counts = np.empty((size, values.shape[1]), dtype=np.int32)
    means = np.empty(counts.shape, dtype=np.float32)
    for k in range(values.shape[1]):
        rows = known[:, k]
        counts[:, k] = np.bincount(keys[rows], minlength=size)
        total = np.bincount(keys[rows], values[rows, k], minlength=size)
        means[:, k] = np.where(counts[:, k] > 0, total / np.maximum(counts[:, k], 1), np.nan)
    return means, counts
