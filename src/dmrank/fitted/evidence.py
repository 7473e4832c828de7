"""How items were rated and how users rate, on average: what an explanation points at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.data.ratings import Ratings
from dmrank.support.arrays import Array, Arrays, Codes, Float32s, Floats, Int32s
from dmrank.support.large_arrays import large_array
from dmrank.support.layouts import Kept, counts, floats
from dmrank.support.lazy_arrays import LazyArrays
from dmrank.training.sums import blocks_of

_PREFIX = "catalogue."
_NAMES = ("item_means", "item_counts", "user_means", "user_counts")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Means of training ratings on their own scale, NaN where there is none, and how many.

    Attributes
    ----------
    arrays : mapping of str to array
        `item_means` and `item_counts`, float32 and int32, N × K: of the ratings of each item on
        each aspect; `user_means` and `user_counts`, M × K: of the ratings by each user.
    """

    arrays: Arrays

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Evidence:
        """Average the training ratings when that is first asked for: no fit needs it."""
        sides = (
            cache(partial(averages, ratings.item_codes, ratings.values, len(ratings.items))),
            cache(partial(averages, ratings.user_codes, ratings.values, len(ratings.users))),
        )
        makers = [partial(_made, side, place) for side in sides for place in range(2)]
        return cls(LazyArrays({}, dict(zip(_NAMES, makers, strict=True))))

    def finish(self) -> None:
        """Average the training ratings now, and forget them."""
        if isinstance(self.arrays, LazyArrays):
            self.arrays.finish()

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Evidence | None:
        """Take the arrays of a model file, if it has them."""
        given = {name: arrays[_PREFIX + name] for name in _NAMES if _PREFIX + name in arrays}
        return cls(given) if len(given) == len(_NAMES) else None

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays of a model file."""
        return {_PREFIX + name: self.arrays[name] for name in _NAMES}

    @staticmethod
    def layout(users: int, items: int, aspects: int) -> dict[str, Kept]:
        """Return what the arrays of a model file must be."""
        of_items = floats(items, aspects, missing=True), counts(items, aspects)
        of_users = floats(users, aspects, missing=True), counts(users, aspects)
        named = zip(_NAMES, (*of_items, *of_users), strict=True)
        return {_PREFIX + name: kept.maybe() for name, kept in named}

    @property
    def item_means(self) -> Float32s:
        """Mean rating of each item on each aspect."""
        return self.arrays["item_means"]

    @property
    def item_counts(self) -> Int32s:
        """Number of ratings of each item on each aspect."""
        return self.arrays["item_counts"]

    @property
    def user_means(self) -> Float32s:
        """Mean rating by each user on each aspect."""
        return self.arrays["user_means"]

    @property
    def user_counts(self) -> Int32s:
        """Number of ratings by each user on each aspect."""
        return self.arrays["user_counts"]


def _made(side: Callable[[], tuple[Float32s, Int32s]], place: int) -> Array:
    return side()[place]


def averages(keys: Codes, values: Float32s, size: int) -> tuple[Float32s, Int32s]:
    """Return mean and number of the known values of each key, one column per aspect.

    Examples
    --------
    >>> averages(np.array([0, 0, 1]), np.float32([[1], [4], [np.nan]]), size=2)
    (array([[2.5],
           [nan]], dtype=float32), array([[2],
           [0]], dtype=int32))
    """
    shape = size, values.shape[1]
    totals, counts = large_array(shape, np.float64), large_array(shape, np.int32)
    _add_known(keys, values, totals, counts)
    means = large_array(shape, np.float32)
    for rows in blocks_of(size):
        known = counts[rows] > 0
        means[rows] = np.where(known, totals[rows] / np.maximum(counts[rows], 1), np.nan)
    return means, counts


@cached
def _add_known(keys: Codes, values: Float32s, totals: Floats, counts: Int32s) -> None:
    totals[:] = 0.0
    counts[:] = 0
    for row in range(len(keys)):
        for k in range(values.shape[1]):
            if not np.isnan(values[row, k]):
                totals[keys[row], k] += values[row, k]
                counts[keys[row], k] += 1
