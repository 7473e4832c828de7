"""Σ_prior: how aspects vary together over all ratings (paper 3.2.2)."""

from __future__ import annotations

import numpy as np

from dmrank.data.statistics import pairwise_covariance
from dmrank.support.arrays import Float32s, Floats

#: The least variance of an aspect, in stars²: ratings that are all equal still need an inverse.
SMALLEST_VARIANCE = 0.05
#: The least eigenvalue of the correlation matrix.
SMALLEST_EIGENVALUE = 0.02


def prior_covariance(values: Float32s) -> Floats:
    """Estimate the covariance of rating vectors, positive definite whatever is missing.

    Two aspects are compared over the vectors that have both. A correlation from m vectors is
    shrunk by m/(m + K): few vectors say little. Eigenvalues below a floor are lifted to it, and
    aspects that hardly vary get a least variance.

    Parameters
    ----------
    values : float array, n × K
        Rating vectors on the training scale, NaN where an aspect is missing.

    Examples
    --------
    >>> prior_covariance(np.float32([[1, 2], [5, np.nan], [3, 3], [5, 4]])).round(2)
    array([[2.75, 0.8 ],
           [0.8 , 0.67]])
    >>> prior_covariance(np.full((9, 2), 3, dtype=np.float32))
    array([[0.05, 0.  ],
           [0.  , 0.05]])
    """
    observed = ~np.isnan(values)
    covariance, common = pairwise_covariance(values, observed)
    size = len(covariance)
    variance = np.maximum(np.nan_to_num(np.diagonal(covariance)), SMALLEST_VARIANCE)
    deviation = np.sqrt(variance)
    correlation = np.nan_to_num(covariance) / np.outer(deviation, deviation)
    correlation *= common / (common + size)
    np.fill_diagonal(correlation, 1.0)
    eigenvalues, vectors = np.linalg.eigh(np.clip(correlation, -1, 1))
    lifted = (vectors * np.maximum(eigenvalues, SMALLEST_EIGENVALUE)) @ vectors.T
    # Lifting changes the diagonal a little; correlations have ones there.
    root = np.sqrt(np.diagonal(lifted))
    covariance = lifted * np.outer(deviation / root, deviation / root)
    return (covariance + covariance.T) / 2
