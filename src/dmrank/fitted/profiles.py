"""The ratings of users (or items) that are folded into a model, and what they change in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.support.arrays import Array, Bools, Codes, Float32s, Floats, Int32s, Int64s
from dmrank.training.data import Missing, fill_missing
from dmrank.training.least_squares.problem import Observed


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
    others: Int32s
    values: Float32s


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
    given : bool array
        Which ratings are new; the others were rated before, and have the values that the model
        predicts, for it stores none.
    replaces : bool array
        Which of the new ones stand in for a rating from before.
    """

    codes: Codes
    pointer: Int64s
    others: Int32s
    values: Float32s
    given: Bools
    replaces: Bools

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Profile]:
        for n, code in enumerate(self.codes):
            rows = slice(self.pointer[n], self.pointer[n + 1])
            yield Profile(int(code), self.others[rows], self.values[rows])

    @property
    def counts(self) -> Int64s:
        """Number of ratings of each."""
        return np.diff(self.pointer)

    @property
    def rows(self) -> Codes:
        """The code that each rating belongs to."""
        return np.repeat(self.codes, self.counts)

    @property
    def replaced_share(self) -> Floats:
        """Share of the ratings from before that new ones stand in for; 0 if there were none.

        Examples
        --------
        >>> codes, others = np.array([5, 5, 5]), np.array([1, 3, 3])
        >>> given = np.array([False, False, True])
        >>> make_profiles(codes, others, np.ones((3, 1)), given).replaced_share
        array([0.5])
        """
        replaced, kept = self._count(self.replaces), self._count(~self.given)
        return np.asarray(replaced / np.maximum(replaced + kept, 1))

    def _count(self, rows: Bools) -> Int64s:
        return np.diff(np.append(0, np.cumsum(rows))[self.pointer])

    def select(self, rows: Bools) -> Profiles:
        """Keep some of the ratings, by a truth value for each; users without any stay."""
        kept = np.concatenate([[0], np.cumsum(rows)])
        return Profiles(
            self.codes,
            kept[self.pointer],
            self.others[rows],
            self.values[rows],
            self.given[rows],
            self.replaces[rows],
        )

    def filled(self, missing: Missing) -> Profiles:
        """Return the same ratings as training sees them: a missing one left out, or 0."""
        return replace(self, values=fill_missing(self.values, missing))

    def observed(self, values: Float32s | None = None) -> Observed:
        """Return the ratings, or other values in their place, as least squares take them."""
        return reading(
            Observed(self.pointer, self.others, self.values if values is None else values)
        )


def make_profiles(
    codes: Codes, others: Codes, values: Float32s, given: Bools | None = None
) -> Profiles:
    """Group ratings, by default all of them given; of a repeated one the last counts.

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
    if given is None:
        given = np.ones(len(codes), dtype=np.bool_)
    # Those from before come first among the ratings of one pair.
    first = given[order][np.append(True, last[:-1])]
    order = order[last]
    own, starts = np.unique(codes[order], return_index=True)
    return Profiles(
        codes=own,
        pointer=np.append(starts, len(order)).astype(np.int64),
        others=others[order].astype(np.int32),
        values=np.ascontiguousarray(values[order], dtype=np.float32),
        given=given[order],
        replaces=given[order] & ~first,
    )


class NewRows(NamedTuple):
    """Rows of an array: from its length on they are added, before that they replace what is there.

    Attributes
    ----------
    codes : int array
        Which rows; those to be added follow each other from the length of the array on.
    values : array or bool
        What is in them.
    """

    codes: Codes
    values: Array | bool

    def put_into(self, array: Array) -> Array:
        """Return a copy of the array with these rows."""
        size = max(len(array), int(self.codes.max(initial=-1)) + 1)
        grown = np.empty((size, *array.shape[1:]), dtype=array.dtype)
        grown[: len(array)] = array
        grown[self.codes] = self.values
        return grown
