"""From scores to ratings: what the directional criterion leaves open (docs/dmr.md).

The criterion fixes the order of a user's items, not the level and scale of the scores. A small
regression maps scores to the training scale 1–5, r = a_k + b_k r̂ + o_u, one factor maps Σ to the
spread of what is left, and one to the spread of differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import optimize, special

from dmrank.support.arrays import AnyFloats, Array, Arrays, Codes, Float32s
from dmrank.support.layouts import Kept, floats

#: So many held-out orders are listened to.
_ENOUGH: Final = 300


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
