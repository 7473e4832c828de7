"""What effects of users and items leave of ratings, and whether it can be foretold."""

from __future__ import annotations

import numpy as np

from dmrank.support.arrays import AnyFloats, Codes, Float32s, Floats, Int64s

#: A slope has to be so many times its standard error to count.
_SURE = 2.0
_LARGEST = 1.5


def mean_residuals(residuals: AnyFloats) -> Float32s:
    """Return the mean of each row over the aspects it has, 0 if it has none.

    Examples
    --------
    >>> mean_residuals(np.float32([[1, 3], [2, np.nan], [np.nan, np.nan]]))
    array([2., 2., 0.], dtype=float32)
    """
    known = ~np.isnan(residuals)
    total = np.where(known, residuals, 0.0).sum(axis=1)
    return (total / np.maximum(known.sum(axis=1), 1)).astype(np.float32)


def spans_of(pointer: Int64s, users: int) -> Int64s:
    """Return where the rows of each user start and end; users beyond the pointer have none.

    Users who are folded in get rows after all others: a pointer cannot say that.

    Examples
    --------
    >>> spans_of(np.array([0, 2, 5]), users=3).tolist()
    [[0, 2], [2, 5], [0, 0]]
    """
    spans = np.zeros((users, 2), dtype=np.int64)
    spans[: len(pointer) - 1] = np.column_stack([pointer[:-1], pointer[1:]])
    return spans


def personal_strength(users: Codes, left: Float32s, foretold: Float32s) -> float:
    """Return what to multiply a foretold residual with: the slope of what was left on it.

    Only differences among the ratings of one user count, for only they order items. 0 if the slope
    may as well be 0.

    Parameters
    ----------
    users : int array, n
        The user of each held-out rating.
    left, foretold : float32 arrays, n
        Residual of the rating, and what was foretold of it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users, foretold = np.arange(1000) // 10, rng.normal(size=1000).astype(np.float32)
    >>> 0.4 < personal_strength(users, 0.5 * foretold + rng.normal(size=1000), foretold) < 0.6
    True
    >>> personal_strength(users, rng.normal(size=1000), foretold)
    0.0
    """
    _, own = np.unique(users, return_inverse=True)
    counts = np.maximum(np.bincount(own), 1)

    def within(values: Float32s) -> Floats:
        return values - (np.bincount(own, values) / counts)[own]

    x, y = within(foretold), within(left)
    xx = float(x @ x)
    if xx <= 1e-12:
        return 0.0
    slope = float(x @ y) / xx
    freedom = max(len(x) - len(counts) - 1, 1)
    error = float(np.sqrt(np.square(y - slope * x).sum() / freedom / xx))
    return min(slope, _LARGEST) if slope > _SURE * error else 0.0
