"""Further ways to part rows: one row of each user, folds, and users or items that are new."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.data.rows import Parts, check_shares, random_parts
from dmrank.support.arrays import Bools, Codes, Floats, Int64s
from dmrank.support.errors import ConfigError, DataError


class ColdParts(NamedTuple):
    """Row indices of a split whose test users, or items, are new; each ascending."""

    train: Codes
    validation: Codes
    given: Codes
    test: Codes


def leave_one_out_parts(user_pointer: Int64s, order: Floats | Int64s) -> Parts:
    """Test on the last row of each user, validate on the one before.

    A user with two rows has none to validate on, one with a single row is trained on alone.

    Examples
    --------
    >>> leave_one_out_parts(np.array([0, 3, 4]), np.array([5, 9, 7, 1]))
    Parts(train=array([0, 3]), validation=array([2]), test=array([1]))
    """
    counts = np.diff(user_pointer)
    users = np.repeat(np.arange(len(counts)), counts)
    from_last = np.empty(len(users), dtype=np.int64)
    ordered = np.lexsort((order, users))
    from_last[ordered] = np.repeat(user_pointer[1:], counts) - 1 - np.arange(len(users))
    rows = counts[users]
    test = (from_last == 0) & (rows > 1)
    validation = (from_last == 1) & (rows > 2)
    return Parts(
        np.flatnonzero(~(test | validation)), np.flatnonzero(validation), np.flatnonzero(test)
    )


def fold_parts(n: int, k: int, validation: float, seed: int) -> list[Parts]:
    """Test on each of k parts of equal size in turn, validate on a share of the other rows.

    Examples
    --------
    >>> [len(parts.test) for parts in fold_parts(10, 3, validation=0.1, seed=0)]
    [4, 3, 3]
    """
    if not 2 <= k <= n:
        raise ConfigError(f"k={k}: give a number of folds from 2 to {n:,}, the number of rows")
    check_shares(1 - validation, validation, 0)
    fold = np.empty(n, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(n)] = np.arange(n) % k
    folds = []
    for number in range(k):
        others, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        parts = random_parts(len(others), 1 - validation, validation, 0, seed + number)
        folds.append(Parts(others[parts.train], others[parts.validation], test))
    return folds


def cold_parts(
    own: Codes, others: Codes, share: float, given: int, validation: float, seed: int
) -> ColdParts:
    """Keep all rows of some users (or items) out of training: some are given later, some test.

    Only rows whose item (or user) has a training row can be given.

    Parameters
    ----------
    own, others : int arrays
        The user of each row, and its item; or the other way round.
    share : float
        Of the users that are cold, among those with more rows than are given.
    given : int
        How many rows of each are given.
    validation : float
        Share of the other users' rows.
    seed : int
        Same seed, same parts.
    """
    if given < 1:
        raise ConfigError(f"given={given}: fold new ones in from at least one rating")
    if not 0 < share < 1:
        raise ConfigError(f"share={share}: give a share between 0 and 1, such as 0.2")
    check_shares(1 - validation, validation, 0)
    rng = np.random.default_rng(seed)
    enough = np.flatnonzero(np.bincount(own) > given)
    chosen = rng.choice(enough, size=round(share * len(enough)), replace=False)
    cold = np.isin(own, chosen)
    if not cold.any() or cold.all():
        raise DataError(
            f"{len(enough):,} have more than {given} ratings: too few to take a share of "
            f"{share:g} from; give fewer, or another share"
        )
    warm_rows = np.flatnonzero(~cold)
    warm = random_parts(len(warm_rows), 1 - validation, validation, 0, seed)
    train = warm_rows[warm.train]
    is_given = _some_of_each(own, cold & np.isin(others, others[train]), given, rng)
    return ColdParts(
        train,
        warm_rows[warm.validation],
        np.flatnonzero(is_given),
        np.flatnonzero(cold & ~is_given),
    )


def _some_of_each(codes: Codes, among: Bools, count: int, rng: np.random.Generator) -> Bools:
    """Mark at most so many rows of each code, drawn at random among some."""
    rows = np.flatnonzero(among)
    rows = rows[np.lexsort((rng.random(len(rows)), codes[rows]))]
    starts = np.searchsorted(codes[rows], codes[rows], side="left")
    marked = np.zeros(len(codes), dtype=np.bool_)
    marked[rows[np.arange(len(rows)) - starts < count]] = True
    return marked
