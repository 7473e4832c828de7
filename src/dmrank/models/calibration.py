"""From scores to ratings: what the directional criterion leaves open (design section 2).

The criterion fixes the order of a user's items, not the level and scale of the scores. A small
regression maps scores to the training scale 1–5, r = a_k + b_k r̂ + o_u, and one factor maps Σ to
the spread of what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A user's offset is shrunk as if so many ratings with offset 0 had been seen.
_PSEUDO_RATINGS = 5.0
_ROUNDS = 5
_SMALLEST_SLOPE = 1e-3


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
        What Σ is multiplied with.
    """

    intercept: NDArray[np.float32]
    slope: NDArray[np.float32]
    offset: NDArray[np.float32]
    covariance_factor: NDArray[np.float32]

    def __call__(
        self, users: NDArray[np.integer], scores: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return calibrated ratings of scores (n × K) of the given users (n)."""
        return self.intercept + self.slope * scores + self.offset[users][:, None]

    @classmethod
    def none(cls, users: int, aspects: int) -> Calibration:
        """Return what leaves scores as they are."""
        return cls(
            intercept=np.zeros(aspects, dtype=np.float32),
            slope=np.ones(aspects, dtype=np.float32),
            offset=np.zeros(users, dtype=np.float32),
            covariance_factor=np.ones(1, dtype=np.float32),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps."""
        return {f"calibration.{name}": array for name, array in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """Undo :meth:`to_arrays`."""
        names = cls.__dataclass_fields__
        return cls(**{name: arrays[f"calibration.{name}"] for name in names})


def calibrate(
    users: NDArray[np.integer],
    scores: NDArray[np.float32],
    ratings: NDArray[np.float32],
    n_users: int,
) -> Calibration:
    """Fit slope and intercept per aspect and an offset per user, in turns, by least squares.

    Parameters
    ----------
    users : int array, n
        The user of each rating vector.
    scores, ratings : float arrays, n × K
        Scores, and ratings on the training scale with NaN where missing.
    n_users : int
        Number of users M.
    """
    observed = ~np.isnan(ratings)
    counts = observed.sum(axis=0)
    known = np.where(observed, ratings, 0).astype(np.float64)
    x = np.where(observed, scores, 0).astype(np.float64)
    per_user = np.bincount(users, observed.sum(axis=1), minlength=n_users)
    slope, intercept = _within_user_slope(users, x, known, observed, n_users), np.zeros(len(counts))
    offset = np.zeros(n_users)
    for _ in range(_ROUNDS):
        left = np.where(observed, known - slope * x - offset[users][:, None], 0)
        intercept = left.sum(axis=0) / np.maximum(counts, 1)
        left = np.where(observed, known - intercept - slope * x, 0).sum(axis=1)
        offset = np.bincount(users, left, minlength=n_users) / (per_user + _PSEUDO_RATINGS)
    return Calibration(
        intercept=intercept.astype(np.float32),
        slope=slope.astype(np.float32),
        offset=offset.astype(np.float32),
        covariance_factor=np.ones(1, dtype=np.float32),
    )


def covariance_factor(
    residuals: NDArray[np.floating[Any]], covariances: NDArray[np.floating[Any]]
) -> NDArray[np.float32]:
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
    # Marginalising a missing aspect is the identity in its row and column (design section 2).
    padded = np.where(both, covariances, np.eye(kept.shape[1]))
    e = np.where(kept, residuals, 0.0)
    distance = (e * np.linalg.solve(padded, e[:, :, None])[:, :, 0]).sum(axis=1)
    aspects = kept.sum(axis=1)
    return np.array([distance.sum() / max(aspects.sum(), 1)], dtype=np.float32)


def _within_user_slope(
    users: NDArray[np.integer],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    observed: NDArray[np.bool_],
    n_users: int,
) -> NDArray[np.float64]:
    """Regress ratings on scores among the ratings of one user, over all users, per aspect.

    Only differences within a user are used: the level of a user's scores is arbitrary.
    """
    slope = np.empty(x.shape[1])
    for k in range(x.shape[1]):
        of_user = np.maximum(np.bincount(users, observed[:, k], minlength=n_users), 1)
        mean_x = np.bincount(users, x[:, k], minlength=n_users) / of_user
        mean_y = np.bincount(users, y[:, k], minlength=n_users) / of_user
        dx = (x[:, k] - mean_x[users]) * observed[:, k]
        dy = (y[:, k] - mean_y[users]) * observed[:, k]
        slope[k] = (dx @ dy) / max(dx @ dx, 1e-9)
    return np.maximum(slope, _SMALLEST_SLOPE)
