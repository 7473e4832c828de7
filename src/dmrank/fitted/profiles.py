"""The ratings of users (or items) that are folded into a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmrank.training.least_squares.solve import Observed


class Profile(NamedTuple):
    """The ratings of one user (or item).

    Attributes
    ----------
    code : int
        Code of the user in the grown model.
    others : int32 array, n
        The items that the user rated (or the users who rated the item), ascending.
    values : float32 array, n × K
        The ratings on the training scale, NaN where missing.
    """

    code: int
    others: NDArray[np.int32]
    values: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Profiles:
    """The ratings of several users (or items), one after the other.

    Attributes
    ----------
    codes : int array, m
        Codes in the grown model; new ones follow the last known.
    pointer : int64 array, m + 1
        Where the ratings of each begin and end.
    others, values
        See `Profile`.
    """

    codes: NDArray[np.integer]
    pointer: NDArray[np.int64]
    others: NDArray[np.int32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Profile]:
        for n, code in enumerate(self.codes):
            rows = slice(self.pointer[n], self.pointer[n + 1])
            yield Profile(int(code), self.others[rows], self.values[rows])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of ratings of each."""
        return np.diff(self.pointer)

    @property
    def rows(self) -> NDArray[np.integer]:
        """The code that each rating belongs to."""
        return np.repeat(self.codes, self.counts)

    def without_missing(self) -> Profiles:
        """Return the same with a missing rating counted as 0."""
        return replace(self, values=np.nan_to_num(self.values))

    def observed(self, values: NDArray[np.float32] | None = None) -> Observed:
        """Return the ratings, or other values in their place, as least squares take them."""
        return Observed(self.pointer, self.others, self.values if values is None else values)


def make_profiles(
    codes: NDArray[np.integer], others: NDArray[np.integer], values: NDArray[np.float32]
) -> Profiles:
    """Group ratings; of a repeated one the last counts.

    Examples
    --------
    >>> values = np.float32([[1], [2], [5]])
    >>> profiles = make_profiles(np.array([7, 7, 7]), np.array([3, 1, 3]), values)
    >>> profiles.codes, profiles.others, profiles.values.ravel()
    (array([7]), array([1, 3], dtype=int32), array([2., 5.], dtype=float32))
    """
    order = np.lexsort((np.arange(len(codes)), others, codes))
    code, other = codes[order], others[order]
    last = np.append((code[1:] != code[:-1]) | (other[1:] != other[:-1]), True)
    order = order[last]
    own, starts = np.unique(codes[order], return_index=True)
    return Profiles(
        codes=own,
        pointer=np.append(starts, len(order)).astype(np.int64),
        others=others[order].astype(np.int32),
        values=np.ascontiguousarray(values[order], dtype=np.float32),
    )
