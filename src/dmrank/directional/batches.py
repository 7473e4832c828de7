"""The criterion for arrays of pairs, on the compiled lanes: what `reference` computes, fast."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.elementary import log
from dmrank.compiled.lanes import LANES, Lanes, load, spread, store, where_less
from dmrank.directional.families import Family, Student
from dmrank.directional.kernels import (
    SMALLEST_PIVOT,
    Block,
    FamilyConstants,
    Ray,
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
from dmrank.directional.packing import packed
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
    d, mu, Sigma = (
        np.ascontiguousarray(array, dtype=np.float32) for array in (difference, mean, covariance)
    )
    found = Evaluation(np.empty(len(d), np.float32), np.empty_like(mu), np.empty_like(Sigma))
    evaluate_rows(d, mu, Sigma, False, family_constants(family, d.shape[1]), found, 0, len(d))
    return found


@cached
def evaluate_rows(
    differences: Float32s,
    means: Float32s,
    scales: Float32s,
    are_roots: bool,
    family: FamilyConstants,
    found: Evaluation,
    start: int,
    stop: int,
) -> None:
    """Evaluate the pairs ``start`` to ``stop``.

    Parameters
    ----------
    differences, means
        d, NaN where the aspect is dropped, and μ.
    scales
        Σ, or its lower-triangular root L; only the lower triangles are looked at.
    are_roots
        Whether ``scales`` are roots; then no aspect may be dropped.
    family
        See `family_constants`.
    found
        Receives the results: the log-likelihood is NaN where Σ is not positive definite, and
        beside a root the last gradient is ∂/∂L, the lower triangle of 2GL.
    """
    aspects = differences.shape[1]
    block = new_block(aspects, family)
    log_likelihood = np.empty((1, LANES), np.float32)
    scratch = np.empty((aspects, LANES), np.float32)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        _load_rows(differences, means, scales, first, count, block)
        separate_missing(block, family)
        if are_roots:
            log_determinant = _invert_diagonal(block)
        else:
            drop_aspects(block)
            _keep_diagonal(block)
            log_determinant = factorize(block)
            log_determinant = log_determinant + _nan_if_indefinite(block)
        whiten(block)
        ray = follow_ray(block, family, log_determinant)
        store(log_likelihood, 0, ray.log_likelihood)
        differentiate_whitened_mean(block, ray, 1.0)
        unwhiten_mean_gradient(block)
        if are_roots:
            _differentiate_root(block, ray, scratch)
        else:
            invert_factor(block)
            differentiate_covariance(block, ray)
        for lane in range(count):
            found.log_likelihood[first + lane] = log_likelihood[0, lane]
        _store_rows(block, are_roots, first, count, found)


@compiled
def _load_rows(
    differences: Float32s, means: Float32s, scales: Float32s, first: int, count: int, block: Block
) -> None:
    """Fill a block with pairs; beyond the last one it is repeated.

    What stands at dropped aspects, be it NaN, is not looked at.
    """
    complete = not _any_dropped(differences, first, count)
    for lane in range(LANES):
        row = first + min(lane, count - 1)
        if complete:
            for i in range(block.aspects):
                block.difference[i, lane] = differences[row, i]
                block.mean[i, lane] = means[row, i]
                for j in range(i + 1):
                    block.covariance[packed(i, j), lane] = scales[row, i, j]
            continue
        for i in range(block.aspects):
            dropped = np.isnan(differences[row, i])
            block.difference[i, lane] = differences[row, i]
            block.mean[i, lane] = 0.0 if dropped else means[row, i]
            for j in range(i + 1):
                unseen = dropped or np.isnan(differences[row, j])
                element = 0.0 if unseen else scales[row, i, j]
                block.covariance[packed(i, j), lane] = element


@compiled
def _any_dropped(differences: Float32s, first: int, count: int) -> bool:
    total = np.float32(0.0)
    for row in range(first, first + count):
        for i in range(differences.shape[1]):
            total += np.float32(0.0) * differences[row, i]
    return np.isnan(total)


@compiled
def _store_rows(block: Block, are_roots: bool, first: int, count: int, found: Evaluation) -> None:
    for lane in range(count):
        row = first + lane
        for i in range(block.aspects):
            found.mean_gradient[row, i] = block.mean_gradient[i, lane]
            for j in range(i + 1):
                element = block.covariance_gradient[packed(i, j), lane]
                found.covariance_gradient[row, i, j] = element
                if j < i:
                    found.covariance_gradient[row, j, i] = 0.0 if are_roots else element


@compiled
def _keep_diagonal(block: Block) -> None:
    """Note the diagonal of Σ where ∂/∂μ will be."""
    for i in range(block.aspects):
        store(block.mean_gradient, i, load(block.covariance, packed(i, i)))


@compiled
def _nan_if_indefinite(block: Block) -> Lanes:
    """Return NaN where a pivot is negative by more than rounding, else 0; after `factorize`."""
    answer = spread(0.0)
    for i in range(block.aspects):
        diagonal = load(block.mean_gradient, i)
        pivot = diagonal
        for j in range(i):
            element = load(block.covariance, packed(i, j))
            pivot = pivot - element * element
        answer = answer + where_less(-SMALLEST_PIVOT * diagonal, pivot, 0.0, math.nan)
    return answer


@compiled
def _invert_diagonal(block: Block) -> Lanes:
    """Invert the diagonal of a root, as `factorize` leaves it, and return ln|Σ|."""
    log_determinant = spread(0.0)
    for i in range(block.aspects):
        element = load(block.covariance, packed(i, i))
        size = where_less(element, 0.0, -element, element)
        # The logarithm of lanes knows neither 0 nor NaN.
        checked = where_less(0.0, size, size, math.nan)
        log_determinant = log_determinant + 2.0 * log(size) + (checked - checked)
        store(block.covariance, packed(i, i), 1.0 / element)
    return log_determinant


@compiled
def _differentiate_root(block: Block, ray: Ray, scratch: Float32s) -> None:
    """Set ∂/∂L, the lower triangle of 2GL = −C⁻ᵀ − 2C⁻ᵀ(p yᵀ + q rᵀ) with ∂/∂μ = 2C⁻ᵀq.

    p = f_A y + (f_ρ/2A) r and q = f_E r + (f_ρ/2A) y; of C⁻ᵀ the diagonal is left.
    """
    root, K = block.covariance, block.aspects
    cross = 0.5 * ray.by_rho_over_a
    for i in range(K - 1, -1, -1):
        by_s = ray.by_a * load(block.difference, i) + cross * load(block.mean, i)
        for k in range(i + 1, K):
            by_s = by_s - load(root, packed(k, i)) * load(scratch, k)
        by_s = by_s * load(root, packed(i, i))
        store(scratch, i, by_s)
        by_mean = load(block.mean_gradient, i)
        for j in range(i + 1):
            ray_part = 2.0 * by_s * load(block.difference, j) + by_mean * load(block.mean, j)
            store(block.covariance_gradient, packed(i, j), -ray_part)
        diagonal = load(block.covariance_gradient, packed(i, i))
        diagonal = diagonal - ray.has_direction * load(root, packed(i, i))
        store(block.covariance_gradient, packed(i, i), diagonal)
