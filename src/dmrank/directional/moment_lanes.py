"""The moments of `moments` in SIMD lanes, float32: what the density of a direction takes.

Lengths are in units of √κ for the student family, so that both look alike: with c = κ − 1,

    (1 − k/c) q_k = (1 − 2k/c) x + k R/q_{k−1} ,   R = (κ + x²)/c        (gaussian: 1/c = 0, R = 1)

The last ratio q_{n−1}, from which x < 0 goes downwards, is (√n + x̃) w q_{n−1} = a polynomial of
degree 12 in v, which is (x̃ − 2√n)/(x̃ + 2√n) stretched to [−1, 1], to a relative 1e-6 for up to 16
aspects (w and x̃ as in `survival`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from dmrank.compiled.compiling import inlined
from dmrank.compiled.elementary import log
from dmrank.compiled.lanes import Lanes, load, spread, sqrt, store, where_less
from dmrank.compiled.transpose import padded
from dmrank.directional.families import Family, Student
from dmrank.directional.moments import gaussian_moments, student_moments
from dmrank.directional.survival import (
    CONSTANT,
    KAPPA,
    LOG_DENSITY,
    TABLE_COLUMNS,
    hazard_and_log_survival,
)
from dmrank.support.arrays import Float32s, Floats

# Columns of a table that follow those of `survival.family_table`.
POWER = TABLE_COLUMNS
_ROOT, _STRETCH, _SHIFT, _COEFFICIENTS = range(POWER + 1, POWER + 5)
_DEGREE = 12
_LAST_COEFFICIENT = _COEFFICIENTS + _DEGREE
_COLUMNS = padded(_LAST_COEFFICIENT + 1)


class MomentLanes(NamedTuple):
    """ln J_n and its derivatives, as `moments.Moments`."""

    log_integral: Lanes
    slope: Lanes
    edge: Lanes


@inlined
def moments_in_lanes(
    x: Lanes, a: Lanes, is_gaussian: bool, table: Float32s, scratch: Float32s, aspects: int
) -> MomentLanes:
    """Return the moments of sixteen pairs.

    Parameters
    ----------
    x, a
        m − a, and a ≥ 0, in units of √κ for the student family.
    is_gaussian
        Whether κ is infinite.
    table
        Rows of the `moment_table`, one per lane, transposed.
    scratch
        Memory for K rows of lanes.
    aspects
        K.
    """
    hazard, log_survival = hazard_and_log_survival(-x, is_gaussian, table)
    n = load(table, POWER)
    last = _fill_ratios(x, hazard, is_gaussian, table, scratch, aspects)
    scale = 1.0 / (a + last)
    share = a * scale
    # Products of ratios; the scale keeps them and their sums near 1.
    product = spread(1.0)
    store(scratch, 0, product)
    for k in range(1, aspects):
        product = product * scale * load(scratch, k)
        store(scratch, k, product)
    # J_j = Σ_k C(j,k) a^{j−k} T_k by j rounds of T_k ← a T_k + T_{k+1}; each lane stops at its n.
    whole, below, edge = spread(1.0), spread(0.0), hazard
    for j in range(1, aspects):
        before = load(scratch, 0)
        for k in range(aspects - j):
            store(scratch, k, share * load(scratch, k) + load(scratch, k + 1))
        whole = where_less(j - 0.5, n, load(scratch, 0), whole)
        below = where_less(j - 0.5, n, before, below)
        edge = where_less(j - 0.5, n, share * edge, edge)
    edge = edge / whole
    log_first = log_survival - load(table, LOG_DENSITY)
    return MomentLanes(
        log_first + log(whole) - n * log(scale), n * scale * below / whole + edge, edge
    )


@inlined
def _fill_ratios(
    x: Lanes, hazard: Lanes, is_gaussian: bool, table: Float32s, scratch: Float32s, aspects: int
) -> Lanes:
    """Set row k + 1 to q_k, and return q_{n−1} of each lane (1 where n = 0)."""
    if is_gaussian:
        w, inverse, R = spread(1.0), spread(0.0), spread(1.0)
    else:
        kappa = load(table, KAPPA)
        w = 1.0 / sqrt(1.0 + x * x / kappa)
        # κ > 1 where n > 0.
        inverse = 1.0 / where_less(1.0, kappa, kappa - 1.0, 1.0)
        R = (kappa + x * x) * inverse
    n, root = load(table, POWER), load(table, _ROOT)
    right = where_less(x, 0.0, -x, x) * w
    v = (right - 2.0 * root) / (right + 2.0 * root) * load(table, _STRETCH) + load(table, _SHIFT)
    p = load(table, _COEFFICIENTS)
    for power in range(_COEFFICIENTS + 1, _LAST_COEFFICIENT + 1):
        p = p * v + load(table, power)
    last = p / ((right + root) * w)

    up = x + R * hazard
    last_up = up
    for k in range(aspects - 1):
        if k > 0:
            up = ((1.0 - 2.0 * k * inverse) * x + k * R / up) / (1.0 - k * inverse)
        store(scratch, k + 1, up)
        last_up = where_less(k + 0.5, n, up, last_up)
    down = last
    for k in range(aspects - 2, -1, -1):
        beside = (1.0 - (k + 1.0) * inverse) * down - (1.0 - 2.0 * (k + 1.0) * inverse) * x
        down = where_less(k + 1.5, n, (k + 1.0) * R / beside, last)
        store(scratch, k + 1, where_less(x, 0.0, down, load(scratch, k + 1)))
    return where_less(0.5, n, where_less(x, 0.0, last, last_up), 1.0)


def moment_table(table: Float32s, family: Family) -> Float32s:
    """Return the table of a family with what moments take beside it, row k for k kept aspects."""
    wider = np.zeros((len(table), _COLUMNS), dtype=np.float32)
    wider[:, :TABLE_COLUMNS] = table
    wider[:, CONSTANT] = family.constant(np.maximum(np.arange(len(table)), 1))
    wider[:, _ROOT] = 1.0
    for kept in range(2, len(table)):
        row, n = wider[kept], kept - 1
        row[POWER], row[_ROOT] = n, math.sqrt(n)
        end, last = _last_ratio(family, n)
        row[_STRETCH], row[_SHIFT] = 2 / (end + 1), (1 - end) / (end + 1)
        row[_COEFFICIENTS : _LAST_COEFFICIENT + 1] = last
    return wider


def _last_ratio(family: Family, n: int) -> tuple[float, Floats]:
    """Return where the polynomial of q_{n−1} ends, and its coefficients, highest power first."""
    root = math.sqrt(n)
    eta = family.degrees_of_freedom if isinstance(family, Student) else math.inf
    size = math.sqrt(eta + n)
    end = 1.0 if math.isinf(eta) else (size - 2 * root) / (size + 2 * root)

    def scaled(v: Floats) -> Floats:
        right = 2 * root * (1 + v) / (1 - v)
        powers, zero = np.full_like(right, n), np.zeros_like(right)
        # Without a margin, the slope is n J_{n−1}/J_n = n/q_{n−1}.
        if math.isinf(eta):
            return (root + right) * n / gaussian_moments(-right, zero, powers).slope
        w = np.sqrt(1 - (right / size) ** 2)
        at, nu = -right / (w * size), zero + (eta + n + 1) / 2
        return (root + right) * w * size * n / student_moments(at, zero, powers, nu).slope

    interpolant = Chebyshev.interpolate(scaled, _DEGREE, domain=[-1.0, end])
    return end, np.asarray(chebyshev.cheb2poly(interpolant.coef)[::-1], dtype=np.float64)
