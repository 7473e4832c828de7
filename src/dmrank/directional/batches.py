"""The criterion for arrays of pairs, on the compiled lanes: what `reference` computes, fast."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.lanes import LANES, store
from dmrank.compiled.transpose import gather, padded, scatter
from dmrank.directional.families import Family, Student
from dmrank.directional.kernels import (
    FamilyConstants,
    differentiate_covariance,
    differentiate_whitened_mean,
    drop_aspects,
    factorize,
    follow_ray,
    invert_factor,
    new_block,
    separate_missing,
    unwhiten_mean_gradient,
    whiten,
)
from dmrank.directional.moment_lanes import moment_table
from dmrank.directional.projected import ProjectedGaussian, ProjectedStudent
from dmrank.directional.survival import family_table
from dmrank.support.arrays import Float32s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Evaluation(NamedTuple):
    """The criterion of many pairs, float32.

    Attributes
    ----------
    log_likelihood
        All constants included, 0 without a direction.
    mean_gradient
        ∂/∂μ, one row per pair.
    covariance_gradient
        G = ∂/∂Σ, one symmetric matrix per pair.
    """

    log_likelihood: Float32s
    mean_gradient: Float32s
    covariance_gradient: Float32s


@lru_cache(maxsize=64)
def family_constants(family: Family, aspects: int) -> FamilyConstants:
    """Return a family with the types that compiled code expects; made once, in milliseconds."""
    eta = family.degrees_of_freedom if isinstance(family, Student) else math.inf
    table = family_table(family, aspects)
    projected = isinstance(family, ProjectedGaussian | ProjectedStudent)
    if projected:
        table = moment_table(table, family)
    return FamilyConstants(table, float(family.margin), float(eta), projected or None)


def evaluate(
    difference: ArrayLike, mean: ArrayLike, covariance: ArrayLike, family: Family
) -> Evaluation:
    """Return the log-likelihood of many pairs and its gradients.

    Parameters
    ----------
    difference
        d, shape (n, K); NaN where the aspect is dropped.
    mean
        μ, shape (n, K).
    covariance
        Σ, positive definite, shape (n, K, K).
    family
        `Gaussian` or `Student`, with its margin ξ.

    Examples
    --------
    >>> from dmrank.directional import Gaussian
    >>> pairs = evaluate([[2.0, -1.0]], [[4.0, 3.0]], [np.eye(2)], Gaussian(margin=0.2))
    >>> print(pairs.log_likelihood.round(4), pairs.mean_gradient.round(4))
    [-11.7612] [[-1.9252 -4.0374]]
    """
    d, mu, Sigma = (np.asarray(array, dtype=np.float32) for array in (difference, mean, covariance))
    n, K = d.shape
    rows = -(-n // LANES) * LANES
    lower = np.tril_indices(K)
    # Beyond the last pair d = 0 and Σ = I: no direction.
    covariances = _table(Sigma[:, *lower], rows)
    covariances[n:, : len(lower[0])] = np.eye(K)[lower]
    log_likelihood = np.empty((rows // LANES, LANES), dtype=np.float32)
    by_mean = np.empty((rows, padded(K)), dtype=np.float32)
    by_covariance = np.empty_like(covariances)
    _evaluate(
        _table(d, rows),
        _table(mu, rows),
        covariances,
        family_constants(family, K),
        log_likelihood,
        by_mean,
        by_covariance,
    )
    G = np.zeros((n, K, K), dtype=np.float32)
    G[:, *lower] = by_covariance[:n, : len(lower[0])]
    G[:, *lower[::-1]] = by_covariance[:n, : len(lower[0])]
    return Evaluation(log_likelihood.ravel()[:n], by_mean[:n, :K], G)


def _table(values: Float32s, rows: int) -> Float32s:
    table = np.zeros((rows, padded(values.shape[1])), dtype=np.float32)
    table[: len(values), : values.shape[1]] = values
    return table


@cached
def _evaluate(
    differences: Float32s,
    means: Float32s,
    covariances: Float32s,
    family: FamilyConstants,
    log_likelihood: Float32s,
    by_mean: Float32s,
    by_covariance: Float32s,
) -> None:
    aspects = family.table.shape[0] - 1
    block = new_block(aspects, family)
    rows = np.arange(LANES)
    for number in range(log_likelihood.shape[0]):
        gather(differences, rows, block.difference)
        gather(means, rows, block.mean)
        gather(covariances, rows, block.covariance)
        separate_missing(block, family)
        drop_aspects(block)
        log_determinant = factorize(block)
        whiten(block)
        ray = follow_ray(block, family, log_determinant)
        store(log_likelihood, number, ray.log_likelihood)
        differentiate_whitened_mean(block, ray, 1.0)
        unwhiten_mean_gradient(block)
        invert_factor(block)
        differentiate_covariance(block, ray)
        scatter(by_mean, rows, block.mean_gradient)
        scatter(by_covariance, rows, block.covariance_gradient)
        for lane in range(LANES):
            rows[lane] += LANES
