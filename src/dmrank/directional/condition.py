"""The conditional normal distribution, for many vectors with different gaps at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.support.arrays import AnyFloats, Floats


class Conditional(NamedTuple):
    """Mean and standard deviation of each entry, given the known ones of its vector.

    A known entry is its own mean, with deviation 0.
    """

    mean: Floats
    deviation: Floats


def condition(
    mean: AnyFloats,
    covariance: AnyFloats,
    known: AnyFloats,
) -> Conditional:
    """Return N(μ, Σ) given some entries g: μ_m + Σ_mg Σ_gg⁻¹ (x_g − μ_g) for the missing ones m.

    Parameters
    ----------
    mean : float array, n × K
        μ of each vector.
    covariance : float array, n × K × K
        Σ of each vector, positive definite.
    known : float array, n × K
        x, NaN where it is not known.

    Examples
    --------
    >>> mean, covariance = np.zeros((1, 2)), np.array([[[1.0, 0.8], [0.8, 1.0]]])
    >>> condition(mean, covariance, np.array([[2.0, np.nan]]))
    Conditional(mean=array([[2. , 1.6]]), deviation=array([[0. , 0.6]]))
    """
    mean, covariance = np.asarray(mean, np.float64), np.asarray(covariance, np.float64)
    given = ~np.isnan(known)
    # One shape for all gaps: a missing entry is the identity in its row and column.
    both = given[:, :, None] & given[:, None, :]
    padded = np.where(both, covariance, np.eye(given.shape[1]))
    root = np.linalg.cholesky(padded)
    # Columns: what was found beyond the mean, and Σ_gm of every missing entry.
    surprise = np.where(given, known - mean, 0.0)
    across = np.where(given[:, :, None] & ~given[:, None, :], covariance, 0.0)
    whitened = np.linalg.solve(root, np.concatenate([surprise[:, :, None], across], axis=2))
    shift = (whitened[:, :, 1:] * whitened[:, :, :1]).sum(axis=1)
    explained = np.square(whitened[:, :, 1:]).sum(axis=1)
    variance = np.maximum(np.diagonal(covariance, axis1=1, axis2=2) - explained, 0.0)
    return Conditional(
        mean=np.where(given, known, mean + shift),
        deviation=np.where(given, 0.0, np.sqrt(variance)),
    )
