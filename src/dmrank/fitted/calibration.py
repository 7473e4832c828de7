"""From scores to ratings: what the directional criterion leaves open (docs/dmr.md).

The criterion fixes the order of a user's items, not the level and scale of the scores. A small
regression maps scores to the training scale 1–5, r = a_k + b_k r̂ + o_u, one factor maps Σ to the
spread of what is left, and one to the spread of differences.

Scores fit training ratings better than others, so that what is learned from training rows is too
sure. With held-out rows, all slopes are multiplied by the one number that fits those best: on
Yahoo! Movies predicted ratings came closer by a tenth. One number for all aspects, so that no
ranking changes, not even by a mix of aspects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from dmrank.support.arrays import (
    AnyFloats,
    Array,
    Arrays,
    Bools,
    Codes,
    Float32s,
    Floats,
    Int64s,
)
from dmrank.support.layouts import Kept, floats
from dmrank.training.data import RowValues
from dmrank.training.sums import blocks_of

#: A user's offset is shrunk as if so many ratings with offset 0 had been seen.
_PSEUDO_RATINGS = 5.0
_ROUNDS = 5
_SMALLEST_SLOPE = 1e-3
#: So many held-out rows beyond the first of each user, or held-out orders, are listened to.
_ENOUGH = 300
#: The least and the most by which held-out rows change all slopes.
_SLOPE_CHANGE = (0.02, 1.5)


class ScoredRatings(NamedTuple):
    """Rating vectors with their scores.

    Attributes
    ----------
    users : int array, n
        The user of each rating vector.
    scores : float array, n × K
        Scores.
    ratings : n × K
        Ratings on the training scale, NaN where missing: an array, or what makes its rows.
    """

    users: Codes
    scores: Float32s
    ratings: RowValues

    def filled(self, rows: slice) -> tuple[Floats, Floats, Bools]:
        """Return ratings and scores, 0 where the rating is missing, and where it is not."""
        return _filled(self.ratings[rows], self.scores[rows])

    def column(self, aspect: int) -> tuple[Floats, Floats, Bools]:
        """Return the same of one aspect."""
        blocks = blocks_of(len(self.users))
        ratings = np.concatenate([self.ratings[rows][:, aspect] for rows in blocks])
        return _filled(ratings, self.scores[:, aspect])


def _filled(ratings: Float32s, scores: Float32s) -> tuple[Floats, Floats, Bools]:
    observed = ~np.isnan(ratings)
    known = np.where(observed, ratings, 0).astype(np.float64)
    return known, np.where(observed, scores, 0).astype(np.float64), observed


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps scores to ratings on the training scale.

    Attributes
    ----------
    intercept, slope : float32 arrays, K
        a and b, one per aspect.
    offset : float32 array, M
        o, one per user.
    covariance_factor : float32 array, 1
        What Σ_ui is multiplied with, to be the covariance of a rating vector.
    order_factor : float32 array, 1
        What Σ_uij is multiplied with, to be the squared scale of the difference of two rating
        vectors in the probability of an order.
    """

    intercept: Float32s
    slope: Float32s
    offset: Float32s
    covariance_factor: Float32s
    order_factor: Float32s

    def __call__(self, users: Codes, scores: Float32s) -> Float32s:
        """Return calibrated ratings of scores (n × K) of the given users (n)."""
        return self.intercept + self.slope * scores + self.offset[users][:, None]

    @classmethod
    def identity(cls, users: int, aspects: int) -> Calibration:
        """Return what leaves scores as they are."""
        return cls(
            intercept=np.zeros(aspects, dtype=np.float32),
            slope=np.ones(aspects, dtype=np.float32),
            offset=np.zeros(users, dtype=np.float32),
            covariance_factor=np.ones(1, dtype=np.float32),
            order_factor=np.ones(1, dtype=np.float32),
        )

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays that a model file keeps."""
        return {f"calibration.{name}": array for name, array in vars(self).items()}

    @staticmethod
    def layout(users: int, aspects: int) -> dict[str, Kept]:
        """Return what the arrays of a model file must be."""
        return {
            "calibration.intercept": floats(aspects),
            "calibration.slope": floats(aspects, low=0),
            "calibration.offset": floats(users),
            "calibration.covariance_factor": floats(1, low=0),
            "calibration.order_factor": floats(1, low=0).maybe(),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Calibration:
        """Undo :meth:`to_arrays`."""
        given = {name: arrays.get(f"calibration.{name}") for name in cls.__dataclass_fields__}
        if given["order_factor"] is None:  # a file of an older version
            given["order_factor"] = given["covariance_factor"]
        return cls(**given)  # type: ignore[arg-type]


def calibrate(
    rows: ScoredRatings, n_users: int, held_out: ScoredRatings | None = None
) -> Calibration:
    """Fit slope and intercept per aspect and an offset per user, in turns, by least squares.

    What is made of the rows in double precision is made of a block of them, or of one aspect: there
    may be many.

    Parameters
    ----------
    rows : ScoredRatings
        Training rows.
    n_users : int
        Number of users M.
    held_out : ScoredRatings, optional
        Rows that were not trained on; a few are ignored.
    """
    slope = _within_user_slope(rows, n_users)
    if held_out is not None:
        slope *= _slope_change(held_out, slope, n_users)
    intercept, offset = np.zeros(len(slope)), np.zeros(n_users)
    for _ in range(_ROUNDS):
        intercept, _ = _intercepts(rows, slope, offset)
        offset = user_offsets(rows, intercept, slope, np.zeros(n_users), np.zeros(n_users))
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


def _intercepts(rows: ScoredRatings, slope: Floats, offset: Floats) -> tuple[Floats, Int64s]:
    """Return the mean of what is left of each aspect's ratings, and how many these are."""
    total, counts = np.zeros(len(slope)), np.zeros(len(slope), dtype=np.int64)
    for block in blocks_of(len(rows.users)):
        known, x, observed = rows.filled(block)
        left = np.where(observed, known - slope * x - offset[rows.users[block]][:, None], 0)
        # Rows are added one after the other: so it is the sum of all rows at once, bit for bit.
        left[:1] += total
        total = left.sum(axis=0)
        counts += observed.sum(axis=0)
    return total / np.maximum(counts, 1), counts


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
    left, numbers = np.empty(len(rows.users)), np.empty(len(rows.users))
    for block in blocks_of(len(rows.users)):
        known, x, observed = rows.filled(block)
        left[block] = np.where(observed, known - intercept - slope * x, 0).sum(axis=1)
        numbers[block] = observed.sum(axis=1)
    new = np.bincount(rows.users, numbers, minlength=len(before))
    weight = counts + _PSEUDO_RATINGS
    total = before * weight + np.bincount(rows.users, left, minlength=len(before))
    return np.asarray(total / (weight + new))


def covariance_factor(residuals: AnyFloats, covariances: AnyFloats) -> Float32s:
    """Return the factor c for which residuals have the covariance c Σ: the mean of eᵀΣ⁻¹e / K.

    Parameters
    ----------
    residuals : float array, n × K
        Rating minus calibrated prediction, NaN where the aspect is missing.
    covariances : float array, n × K × K
        Σ_ui of each rating.

    Examples
    --------
    >>> covariance_factor(np.array([[2.0, np.nan], [-2.0, 2.0]]), np.stack([np.eye(2)] * 2))
    array([4.], dtype=float32)
    """
    kept = ~np.isnan(residuals)
    both = kept[:, :, None] & kept[:, None, :]
    # Marginalising a missing aspect is the identity in its row and column.
    padded = np.where(both, covariances, np.eye(kept.shape[1]))
    e = np.where(kept, residuals, 0.0)
    distance = (e * np.linalg.solve(padded, e[:, :, None])[:, :, 0]).sum(axis=1)
    aspects = kept.sum(axis=1)
    return np.array([distance.sum() / max(aspects.sum(), 1)], dtype=np.float32)


def order_factor(
    observed: AnyFloats,
    distance: AnyFloats,
    degrees_of_freedom: float | None = None,
) -> Float32s | None:
    """Return the factor of Σ_uij under which observed orders are most likely; None: too few.

    The probability of an order is F(m/√(c Σ)), F the distribution function of the normal or of
    Student's t. The spread of ratings is of no use for c: it has the level of the user in it,
    which is the same for both items, and many differences are 0.

    Parameters
    ----------
    observed : float array, n × K
        Differences of ratings; 0 (no order) and NaN (missing) are left out.
    distance : float array, n × K
        Predicted differences m in standard deviations √Σ_uijkk, not calibrated.
    degrees_of_freedom : float, optional
        Of Student's t; by default normal.
    """
    ordered = np.nan_to_num(observed) != 0
    if ordered.sum() < _ENOUGH:
        return None
    signed = (np.sign(observed) * distance)[ordered].astype(np.float64)

    def loss(log_factor: float) -> float:
        x = signed * np.exp(-log_factor / 2)
        if degrees_of_freedom is None:
            return -float(special.log_ndtr(x).sum())
        return -float(np.log(np.maximum(special.stdtr(degrees_of_freedom, x), 1e-300)).sum())

    best = optimize.minimize_scalar(loss, bounds=(-12.0, 12.0), method="bounded")
    return np.array([np.exp(best.x)], dtype=np.float32)


def _slope_change(rows: ScoredRatings, slope: Floats, n_users: int) -> float:
    """Return what all slopes have to be multiplied with to fit rows that were not trained on."""
    if len(rows.users) - len(np.unique(rows.users)) < _ENOUGH:
        return 1.0
    xy = xx = 0.0
    for k in range(len(slope)):
        known, x, observed = rows.column(k)
        dx, dy = _within_users(rows.users, slope[k] * x, known, observed, n_users)
        xy, xx = xy + float(dx @ dy), xx + float(dx @ dx)
    return float(np.clip(xy / max(xx, 1e-9), *_SLOPE_CHANGE))


def _within_user_slope(rows: ScoredRatings, n_users: int) -> Floats:
    """Regress ratings on scores among the ratings of one user, over all users, per aspect.

    Only differences within a user are used: the level of a user's scores is arbitrary.
    """
    slope = np.empty(rows.scores.shape[1])
    for k in range(len(slope)):
        known, x, observed = rows.column(k)
        dx, dy = _within_users(rows.users, x, known, observed, n_users)
        slope[k] = float(dx @ dy) / max(float(dx @ dx), 1e-9)
    return np.maximum(slope, _SMALLEST_SLOPE)


def _within_users(
    users: Codes,
    x: Floats,
    y: Floats,
    observed: Bools,
    n_users: int,
) -> tuple[Floats, Floats]:
    """Return x and y less their means over the observed rows of each user; 0 where missing."""
    of_user = np.maximum(np.bincount(users, observed, minlength=n_users), 1)
    mean_x = np.bincount(users, x, minlength=n_users) / of_user
    mean_y = np.bincount(users, y, minlength=n_users) / of_user
    return _centred(x, mean_x[users], observed), _centred(y, mean_y[users], observed)


def _centred(values: Floats, means: Floats, observed: Bools) -> Floats:
    """Return values less means, in the place of the means: there may be many rows."""
    np.subtract(values, means, out=means)
    means *= observed
    return means
