"""The criterion for sixteen pairs at once, in float32: what `reference` states, fast.

Everything is written for one pair; its numbers are SIMD lanes (see `compiled.lanes`). Symmetric
matrices are packed (see `packing`).

The criterion is evaluated in whitened coordinates. With Σ = C Cᵀ, y = C⁻¹d and z = C⁻¹μ,

    A = y·y ,  ρ = y·z / A ,  r = z − ρy ,  E = r·r

are the ray statistics: E is a sum of squares and never cancels. ∂/∂μ = C⁻ᵀ(2f_E r + (f_ρ/A) y)
takes one triangular solve; G takes C⁻¹, s = C⁻ᵀy and e = C⁻ᵀr.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled, inlined
from dmrank.compiled.elementary import log, log1p
from dmrank.compiled.lanes import LANES, QUAD, Lanes, load, spread, sqrt, store, where_less
from dmrank.compiled.transpose import gather
from dmrank.directional.moment_lanes import POWER, moments_in_lanes
from dmrank.directional.packing import packed
from dmrank.directional.survival import CONSTANT, KAPPA, hazard_and_log_survival
from dmrank.support.arrays import Float32s, Int64s

#: A pivot below this share of its diagonal element is rounding error of float32.
SMALLEST_PIVOT = 1e-6
# Below it, the smallest normal number, 1/A would overflow: such a pair has no direction.
_SMALLEST_A = 1.2e-38
# So many pivots share one logarithm: each lies between 1e-9 and 1e9, so that none overflows.
_PIVOTS_PER_LOG = 4


class Block(NamedTuple):
    """Scratch memory for sixteen pairs, one per column.

    Attributes
    ----------
    difference
        d, then its whitened form y; 0 where the aspect is dropped.
    mean
        μ, then the whitened part r of it that is off the ray.
    kept
        1 where the pair keeps the aspect, else 0.
    covariance
        Σ packed, then its Cholesky factor C with inverted diagonal, then C⁻¹.
    mean_gradient
        ∂/∂μ.
    covariance_gradient
        G, packed.
    table
        Constants of the family, one column per lane.
    kept_counts
        Number of kept aspects of each lane.
    aspects
        K.
    """

    difference: Float32s
    mean: Float32s
    kept: Float32s
    covariance: Float32s
    mean_gradient: Float32s
    covariance_gradient: Float32s
    table: Float32s
    kept_counts: Int64s
    aspects: int


class FamilyConstants(NamedTuple):
    """A family as compiled code sees it.

    Attributes
    ----------
    table
        See `family_table`.
    margin
        ξ.
    degrees_of_freedom
        η, infinite for the gaussian family.
    projected
        True for the density of a direction, None along the ray: of the two, compiled code has
        only the one that is asked for.
    """

    table: Float32s
    margin: float
    degrees_of_freedom: float
    projected: bool | None


class Ray(NamedTuple):
    """The derivatives f_E, f_A and f_ρ/A and the log-likelihood; 0 without a direction."""

    has_direction: Lanes
    by_e: Lanes
    by_a: Lanes
    by_rho_over_a: Lanes
    log_likelihood: Lanes


@compiled
def new_block(aspects: int, family: FamilyConstants) -> Block:
    """Return scratch memory for pairs that keep all K aspects."""
    # Columns of tables are padded to whole quads, and so are the rows that receive them.
    rows = aspects + (-aspects) % QUAD
    elements = packed(aspects, 0)
    matrix_rows = elements + (-elements) % QUAD
    block = Block(
        np.zeros((rows, LANES), np.float32),
        np.zeros((rows, LANES), np.float32),
        np.ones((rows, LANES), np.float32),
        np.zeros((matrix_rows, LANES), np.float32),
        np.zeros((rows, LANES), np.float32),
        np.zeros((matrix_rows, LANES), np.float32),
        np.zeros((family.table.shape[1], LANES), np.float32),
        np.zeros(LANES, np.int64),
        aspects,
    )
    block.kept_counts[:] = aspects
    gather(family.table, block.kept_counts, block.table)
    return block


@compiled
def separate_missing(block: Block, family: FamilyConstants) -> None:
    """Move NaN from d to ``kept``, and fetch the constants for the number of kept aspects."""
    total = spread(0.0)
    for k in range(block.aspects):
        difference = load(block.difference, k)
        kept = where_less(difference, math.inf, 1.0, 0.0)
        total = total + kept
        store(block.kept, k, kept)
        store(block.difference, k, where_less(difference, math.inf, difference, 0.0))
    store(block.mean_gradient, 0, total)
    for lane in range(LANES):
        block.kept_counts[lane] = np.int64(block.mean_gradient[0, lane])
    gather(family.table, block.kept_counts, block.table)


@compiled
def drop_aspects(block: Block) -> None:
    """Pad Σ and μ where an aspect is dropped: 1 on the diagonal, else 0.

    The aspect then adds nothing to A, ρ, E and ln|Σ|: it is marginalised.
    """
    for i in range(block.aspects):
        kept = load(block.kept, i)
        store(block.mean, i, kept * load(block.mean, i))
        for j in range(i):
            both = kept * load(block.kept, j)
            store(block.covariance, packed(i, j), both * load(block.covariance, packed(i, j)))
        diagonal = kept * load(block.covariance, packed(i, i)) + (1.0 - kept)
        store(block.covariance, packed(i, i), diagonal)


@compiled
def factorize(block: Block) -> Lanes:
    """Replace Σ by its Cholesky factor C, with 1/C_ii on the diagonal, and return ln|Σ|."""
    matrix = block.covariance
    log_determinant = spread(0.0)
    pivots = spread(1.0)
    for i in range(block.aspects):
        diagonal = load(matrix, packed(i, i))
        pivot = diagonal
        for j in range(i):
            element = load(matrix, packed(i, j))
            for k in range(j):
                element = element - load(matrix, packed(i, k)) * load(matrix, packed(j, k))
            element = element * load(matrix, packed(j, j))
            store(matrix, packed(i, j), element)
            pivot = pivot - element * element
        smallest = SMALLEST_PIVOT * diagonal
        pivot = where_less(smallest, pivot, pivot, smallest)
        store(matrix, packed(i, i), 1.0 / sqrt(pivot))
        pivots = pivots * pivot
        if i % _PIVOTS_PER_LOG == _PIVOTS_PER_LOG - 1:
            log_determinant = log_determinant + log(pivots)
            pivots = spread(1.0)
    return log_determinant + log(pivots)


@compiled
def whiten_by_scale(block: Block, scale: float) -> Lanes:
    """Replace d and μ by their whitened forms for Σ = I/scale², and return ln|Σ|."""
    kept = spread(0.0)
    for k in range(block.aspects):
        kept = kept + load(block.kept, k)
        store(block.difference, k, scale * load(block.difference, k))
        store(block.mean, k, scale * load(block.kept, k) * load(block.mean, k))
    return -2.0 * math.log(scale) * kept


@compiled
def whiten(block: Block) -> None:
    """Replace d by y = C⁻¹d and μ by z = C⁻¹μ."""
    for i in range(block.aspects):
        y = load(block.difference, i)
        z = load(block.mean, i)
        for k in range(i):
            element = load(block.covariance, packed(i, k))
            y = y - element * load(block.difference, k)
            z = z - element * load(block.mean, k)
        inverse = load(block.covariance, packed(i, i))
        store(block.difference, i, inverse * y)
        store(block.mean, i, inverse * z)


@compiled
def follow_ray(block: Block, family: FamilyConstants, log_determinant: Lanes) -> Ray:
    """Reduce whitened pairs to their ray statistics, replace z by r, and apply the family."""
    K = block.aspects
    A = spread(0.0)
    along = spread(0.0)
    for k in range(K):
        y = load(block.difference, k)
        A = A + y * y
        along = along + y * load(block.mean, k)
    has_direction = where_less(_SMALLEST_A, A, 1.0, 0.0)
    A = where_less(_SMALLEST_A, A, A, 1.0)
    rho = along / A
    E = spread(0.0)
    for k in range(K):
        r = load(block.mean, k) - rho * load(block.difference, k)
        store(block.mean, k, r)
        E = E + r * r
    seen = _Seen(has_direction, A, rho, E)
    return _apply_family(block, family, family.projected, log_determinant, seen)


class _Seen(NamedTuple):
    """The ray statistics of pairs; A = 1 without a direction."""

    has_direction: Lanes
    A: Lanes
    rho: Lanes
    E: Lanes


@inlined
def _apply_family(
    block: Block,
    family: FamilyConstants,
    projected: bool | None,
    log_determinant: Lanes,
    seen: _Seen,
) -> Ray:
    if projected is None:
        return _integrate_along_ray(block, family, log_determinant, seen)
    return _integrate_over_cone(block, family, log_determinant, seen)


@inlined
def _integrate_along_ray(
    block: Block, family: FamilyConstants, log_determinant: Lanes, seen: _Seen
) -> Ray:
    # Both families as one: with h the hazard of the normal or the t distribution, the gaussian
    # f_ρ = g q/2 of `families` is h√A and f_A = −(1 + hx)/(2A), as for student.
    has_direction, A, rho, E = seen
    eta = family.degrees_of_freedom
    is_gaussian = math.isinf(eta)
    stretch = sqrt(A)
    off_ray = -0.5 * E
    if not is_gaussian:
        kappa = load(block.table, KAPPA)
        stretch = stretch * sqrt(kappa / (eta + E))
        off_ray = -0.5 * kappa * log1p(E / eta)
    x = (family.margin - rho) * stretch
    hazard, log_survival = hazard_and_log_survival(x, is_gaussian, block.table)
    f_E = spread(-0.5)
    if not is_gaussian:
        f_E = (hazard * x - load(block.table, KAPPA)) / (2.0 * (eta + E))
    inverse_A = has_direction / A
    value = off_ray - 0.5 * (log(A) + log_determinant) + log_survival + load(block.table, CONSTANT)
    return Ray(
        has_direction,
        has_direction * f_E,
        -0.5 * (1.0 + hazard * x) * inverse_A,
        hazard * stretch * inverse_A,
        has_direction * value,
    )


@inlined
def _integrate_over_cone(
    block: Block, family: FamilyConstants, log_determinant: Lanes, seen: _Seen
) -> Ray:
    """Apply the density of a direction (see `projected`)."""
    has_direction, A, rho, E = seen
    eta = family.degrees_of_freedom
    is_gaussian = math.isinf(eta)
    stretch = sqrt(A)
    off_ray = -0.5 * E
    if not is_gaussian:
        kappa = load(block.table, KAPPA)
        stretch = stretch * sqrt(kappa / (eta + E))
        off_ray = -0.5 * (kappa + 1.0) * log1p(E / eta)
    a = family.margin * stretch
    moments = moments_in_lanes(
        rho * stretch - a, a, is_gaussian, block.table, block.mean_gradient, block.aspects
    )
    along = rho * stretch * moments.slope - a * moments.edge
    f_E = spread(-0.5)
    if not is_gaussian:
        f_E = -0.5 * (eta + along) / (eta + E)
    K = load(block.table, POWER) + 1.0
    inverse_A = has_direction / A
    value = off_ray - 0.5 * log_determinant - K * log(stretch) + moments.log_integral
    return Ray(
        has_direction,
        has_direction * f_E,
        0.5 * (along - K) * inverse_A,
        moments.slope * stretch * inverse_A,
        has_direction * (value + load(block.table, CONSTANT)),
    )


@compiled
def differentiate_whitened_mean(block: Block, ray: Ray, scale: float) -> None:
    """Set ∂/∂μ = scale (2f_E r + (f_ρ/A) y): all of it for Σ = I/scale², else before C⁻ᵀ."""
    for i in range(block.aspects):
        off_ray = 2.0 * ray.by_e * load(block.mean, i)
        along_ray = ray.by_rho_over_a * load(block.difference, i)
        store(block.mean_gradient, i, scale * (off_ray + along_ray))


@compiled
def unwhiten_mean_gradient(block: Block) -> None:
    """Multiply ∂/∂μ by C⁻ᵀ."""
    K = block.aspects
    for i in range(K - 1, -1, -1):
        gradient = load(block.mean_gradient, i)
        for k in range(i + 1, K):
            element = load(block.covariance, packed(k, i))
            gradient = gradient - element * load(block.mean_gradient, k)
        store(block.mean_gradient, i, gradient * load(block.covariance, packed(i, i)))


@compiled
def invert_factor(block: Block) -> None:
    """Replace C, with inverted diagonal, by C⁻¹."""
    matrix = block.covariance
    K = block.aspects
    for j in range(K):
        for i in range(j + 1, K):
            element = spread(0.0)
            for k in range(j, i):
                element = element - load(matrix, packed(i, k)) * load(matrix, packed(k, j))
            store(matrix, packed(i, j), element * load(matrix, packed(i, i)))


@compiled
def differentiate_covariance(block: Block, ray: Ray) -> None:
    """Set G = −½Σ⁻¹ − f_E e eᵀ − f_A s sᵀ − (f_ρ/2A)(s eᵀ + e sᵀ); C must be inverted."""
    inverse = block.covariance
    K = block.aspects
    for i in range(K):  # s = C⁻ᵀy and e = C⁻ᵀr, in place: row i is not needed again
        s = spread(0.0)
        e = spread(0.0)
        for k in range(i, K):
            element = load(inverse, packed(k, i))
            s = s + element * load(block.difference, k)
            e = e + element * load(block.mean, k)
        store(block.difference, i, s)
        store(block.mean, i, e)
    cross = 0.5 * ray.by_rho_over_a
    for i in range(K):
        s = load(block.difference, i)
        e = load(block.mean, i)
        by_s = ray.by_a * s + cross * e
        by_e = ray.by_e * e + cross * s
        half_kept = 0.5 * ray.has_direction * load(block.kept, i)
        for j in range(i + 1):
            precision = spread(0.0)
            for k in range(i, K):
                precision = precision + load(inverse, packed(k, i)) * load(inverse, packed(k, j))
            ray_part = by_s * load(block.difference, j) + by_e * load(block.mean, j)
            gradient = -(half_kept * load(block.kept, j) * precision) - ray_part
            store(block.covariance_gradient, packed(i, j), gradient)
