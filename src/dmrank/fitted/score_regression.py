"""The regression from scores to ratings, r = a_k + b_k r̂ + o_u, in blocks of users.

Scores fit training ratings better than others, so that what is learned from training rows is too
sure. With held-out rows, all slopes are multiplied by the one number that fits those best: on
Yahoo! Movies predicted ratings came closer by a tenth. One number for all aspects, so that no
ranking changes, not even by a mix of aspects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from dmrank.fitted.calibration import Calibration
from dmrank.support.arrays import AnyFloats, Bools, Codes, Floats, Int64s
from dmrank.training.data import RowValues
from dmrank.training.sums import BLOCK

#: A user's offset is shrunk as if so many ratings with offset 0 had been seen.
_PSEUDO_RATINGS: Final = 5.0
_ROUNDS: Final = 5
_SMALLEST_SLOPE: Final = 1e-3
#: So many held-out rows beyond the first of each user are listened to.
_ENOUGH: Final = 300
#: The least and the most by which held-out rows change all slopes.
_SLOPE_CHANGE: Final = (0.02, 1.5)


class ScoredRatings(NamedTuple):
    """Rating vectors with their scores, in the order of their users.

    Attributes
    ----------
    users : int array, n
        The user of each rating vector, ascending.
    scores, ratings : n × K
        Scores, and ratings on the training scale, NaN where missing: arrays, or what makes their
        rows.
    """

    users: Codes
    scores: RowValues
    ratings: RowValues

    def blocks(self) -> Iterator[_Block]:
        """Yield the rows of some users after the other, in double precision."""
        for rows in whole_users(self.users):
            ratings = self.ratings[rows]
            observed = ~np.isnan(ratings)
            yield _Block(
                users=self.users[rows],
                known=np.where(observed, ratings, 0).astype(np.float64),
                scores=np.where(observed, self.scores[rows], 0).astype(np.float64),
                observed=observed,
            )


class _Block(NamedTuple):
    """All rows of some users: ratings and scores, 0 where the rating is missing."""

    users: Codes
    known: Floats
    scores: Floats
    observed: Bools


def whole_users(users: Codes, most: int = BLOCK) -> Iterator[slice]:
    """Cut rows, which are in the order of their users, where users change.

    A range has at most so many rows, or those of one user who has more.

    Examples
    --------
    >>> list(whole_users(np.array([0, 0, 0, 1, 2, 2]), most=2))
    [slice(0, 3, None), slice(3, 4, None), slice(4, 6, None)]
    """
    start, rows = 0, len(users)
    while start < rows:
        stop = min(start + most, rows)
        if stop < rows:
            first = int(np.searchsorted(users, users[stop], side="left"))
            stop = first if first > start else int(np.searchsorted(users, users[start], "right"))
        yield slice(start, stop)
        start = stop


def calibrate(
    rows: ScoredRatings, n_users: int, held_out: ScoredRatings | None = None
) -> Calibration:
    """Fit slope and intercept per aspect and an offset per user, in turns, by least squares.

    Parameters
    ----------
    rows : ScoredRatings
        Training rows.
    n_users : int
        Number of users M.
    held_out : ScoredRatings, optional
        Rows that were not trained on; a few are ignored.
    """
    slope = _within_user_slope(rows)
    if held_out is not None:
        slope *= _slope_change(held_out, slope)
    intercept, offset = np.zeros(len(slope)), np.zeros(n_users)
    nothing = np.zeros(n_users)
    for _ in range(_ROUNDS):
        intercept, _ = _intercepts(rows, slope, offset)
        offset = user_offsets(rows, intercept, slope, nothing, nothing)
    if held_out is not None:
        # Scores of training rows are higher than those of rows that were not trained on.
        of_others, seen = _intercepts(held_out, slope, offset)
        intercept = np.where(seen >= _ENOUGH, of_others, intercept)
    return Calibration(
        intercept=intercept.astype(np.float32),
        slope=slope.astype(np.float32),
        offset=offset.astype(np.float32),
        covariance_factor=np.ones(1, dtype=np.float32),
        order_factor=np.ones(1, dtype=np.float32),
    )


def user_offsets(
    rows: ScoredRatings,
    intercept: AnyFloats,
    slope: AnyFloats,
    before: AnyFloats,
    counts: AnyFloats,
) -> Floats:
    """Return the shrunk mean of what is left of each user's ratings.

    `before` and `counts` are offset and number of ratings of each user that were known before.
    """
    offset = before.astype(np.float64)
    for users, known, x, observed in rows.blocks():
        left = np.where(observed, known - intercept - slope * x, 0).sum(axis=1)
        own = slice(int(users[0]), int(users[-1]) + 1)
        places = users - users[0]
        new = np.bincount(places, observed.sum(axis=1))
        weight = counts[own] + _PSEUDO_RATINGS
        offset[own] = (before[own] * weight + np.bincount(places, left)) / (weight + new)
    return offset


def _intercepts(rows: ScoredRatings, slope: Floats, offset: Floats) -> tuple[Floats, Int64s]:
    """Return the mean of what is left of each aspect's ratings, and how many these are."""
    total, counts = np.zeros(len(slope)), np.zeros(len(slope), dtype=np.int64)
    for users, known, x, observed in rows.blocks():
        left = np.where(observed, known - slope * x - offset[users][:, None], 0)
        # Rows are added one after the other: so it is the sum of all rows at once, bit for bit.
        left[:1] += total
        total = left.sum(axis=0)
        counts += observed.sum(axis=0)
    return total / np.maximum(counts, 1), counts


def _slope_change(rows: ScoredRatings, slope: Floats) -> float:
    """Return what all slopes have to be multiplied with to fit rows that were not trained on."""
    if np.count_nonzero(rows.users[1:] == rows.users[:-1]) < _ENOUGH:
        return 1.0
    xy, xx = _within_user_products(rows, slope)
    return float(np.clip(sum(xy.tolist()) / max(sum(xx.tolist()), 1e-9), *_SLOPE_CHANGE))


def _within_user_slope(rows: ScoredRatings) -> Floats:
    """Regress ratings on scores among the ratings of one user, over all users, per aspect.

    Only differences within a user are used: the level of a user's scores is arbitrary.
    """
    xy, xx = _within_user_products(rows, np.ones(rows.scores.shape[1]))
    return np.maximum(xy / np.maximum(xx, 1e-9), _SMALLEST_SLOPE)


def _within_user_products(rows: ScoredRatings, slope: Floats) -> tuple[Floats, Floats]:
    """Return Σ x y and Σ x² of each aspect: of b_k r̂ and r less their means over their user."""
    xy, xx = np.zeros(len(slope)), np.zeros(len(slope))
    for users, known, x, observed in rows.blocks():
        places = users - users[0]
        for k in range(len(slope)):
            dx = _within_users(places, slope[k] * x[:, k], observed[:, k])
            dy = _within_users(places, known[:, k], observed[:, k])
            xy[k] += dx @ dy
            xx[k] += dx @ dx
    return xy, xx


def _within_users(users: Codes, values: Floats, observed: Bools) -> Floats:
    """Return values less their means over the observed rows of each user; 0 where missing."""
    counts = np.maximum(np.bincount(users, observed), 1)
    means = np.bincount(users, values) / counts
    return np.asarray((values - means[users]) * observed)
