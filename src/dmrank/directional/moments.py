"""Moments of a family along a ray, which the density of a direction takes (float64).

With w = γ/β, m = ρ/β and a = ξ/β, the integral ∫_ξ^∞ γⁿ p(γd) dγ is β^{n+1} J_n but for what does
not depend on γ, where

    J_n = ∫_a^∞ wⁿ k(w − m) dw        k(z) = e^{−z²/2} or (1 + z²)^{−ν}

From w = a + v and x = m − a, J_n = Σ_k C(n,k) a^{n−k} T_k with T_k = ∫_0^∞ v^k k(v − x) dv: nothing
cancels. By parts, the ratios q_k = T_{k+1}/T_k obey, with c = 2ν − 2,

    gaussian   q_k = x + k/q_{k−1}
    student    (c − k) q_k = (c − 2k) x + k (1 + x²)/q_{k−1}

which is stable upwards for x ≥ 0 and downwards, from the last one, for x < 0. For both, J_n has the
derivatives n J_{n−1} + B by m and −B by a, with B = aⁿ k(x).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from dmrank.directional.families import log_erfc, student_log_survival
from dmrank.support.arrays import Bools, Floats

# Where x is nearer to 0, the upward recursion is exact to 1e-11 for up to 30 aspects.
_NEAR = 0.5
# From so far the downward recursion forgets its start, by a factor of 1e14.
_FORGETS = 11.0
_NODES = 80


class Moments(NamedTuple):
    """ln J_n and its derivatives: by m (slope), twice by m (curvature), by −a (edge)."""

    log_integral: Floats
    slope: Floats
    curvature: Floats
    edge: Floats


def gaussian_moments(x: Floats, a: Floats, n: Floats) -> Moments:
    """Return the moments of k(z) = e^{−z²/2}.

    Parameters
    ----------
    x, a : float arrays
        m − a, and a ≥ 0.
    n : float array
        The power, a whole number in each place.

    Examples
    --------
    >>> zero, two = np.zeros(1), np.full(1, 2.0)
    >>> print(np.exp(gaussian_moments(zero, zero, two).log_integral).round(4))  # √(π/2)
    [1.2533]
    """
    log_first = np.log(np.pi / 2) / 2 + log_erfc(-x / np.sqrt(2))
    edge = np.exp(-(x**2) / 2 - log_first)
    zero = np.zeros_like(x)
    ratios = _ratios(x, n, _last_gaussian_ratio(x, n), edge, zero, zero + 1, x < -_NEAR)
    return _moments(x, a, n, log_first, edge, ratios, -x)


def student_moments(x: Floats, a: Floats, n: Floats, nu: Floats) -> Moments:
    """Return the moments of k(z) = (1 + z²)^{−ν}, ν > (n + 1)/2.

    Parameters
    ----------
    x, a, n : float arrays
        As for `gaussian_moments`.
    nu : float array
        ν; 2ν − n − 1 = η is one number for all.
    """
    kappa, c = 2 * nu - 1, 2 * nu - 2
    log_first = special.betaln(0.5, kappa / 2) + student_log_survival(-x * np.sqrt(kappa), kappa)
    edge = np.exp(-nu * np.log1p(x**2) - log_first)
    inverse = 1 / np.where(n > 0, c, 1.0)
    # Less than half of the kernel's width below 0 is near.
    is_below = x * np.sqrt(kappa) < -_NEAR
    last = _last_student_ratio(x, n, nu)
    ratios = _ratios(x, n, last, edge, inverse, (1 + x**2) * inverse, is_below)
    return _moments(x, a, n, log_first, edge, ratios, -2 * nu * x / (1 + x**2))


def _ratios(
    x: Floats, n: Floats, last: Floats, edge: Floats, inverse: Floats, R: Floats, is_below: Bools
) -> list[Floats]:
    """Return q_0 … q_{n−1} of the largest n; beyond the last of a smaller n, none is used.

    With 1/c (`inverse`) and R = (1 + x²)/c, or 0 and 1, the recursion of both families is
    (1 − k/c) q_k = (1 − 2k/c) x + k R/q_{k−1}, from q_0 = x + R k(x)/T_0.
    """
    top = int(n.max(initial=0))
    up, down = [x + R * edge], [last] * top
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(1, top):
            up.append(((1 - 2 * k * inverse) * x + k * R / up[-1]) / (1 - k * inverse))
        for k in range(top - 1, 0, -1):
            below = k * R / ((1 - k * inverse) * down[k] - (1 - 2 * k * inverse) * x)
            down[k - 1] = np.where(k < n, below, last)
    return [np.where(is_below, low, high) for low, high in zip(down, up, strict=False)]


def _moments(
    x: Floats,
    a: Floats,
    n: Floats,
    log_first: Floats,
    edge: Floats,
    ratios: list[Floats],
    log_slope: Floats,
) -> Moments:
    """Return the moments from T_0, k(x)/T_0, the ratios and (ln k)′(−x)."""
    products = [np.ones_like(x)]
    for ratio in ratios:
        products.append(products[-1] * ratio)

    def scaled(power: Floats) -> Floats:
        """Return J_power / T_0, 0 for a negative power."""
        total, known = np.zeros_like(x), np.maximum(power, 0)
        for k, product in enumerate(products):
            used = np.where(k <= power, product, 0)
            total = total + special.binom(known, k) * a ** np.maximum(known - k, 0) * used
        return total

    whole = scaled(n)
    below = n * scaled(n - 1) / whole
    at_edge = a**n * edge / whole
    one_less = np.where(n > 0, n * a ** np.maximum(n - 1, 0) * edge / whole, 0)
    slope = below + at_edge
    twice = n * (n - 1) * scaled(n - 2) / whole + one_less + log_slope * at_edge
    return Moments(log_first + np.log(whole), slope, twice - slope**2, at_edge)


def _last_gaussian_ratio(x: Floats, n: Floats) -> Floats:
    """Return q_{n−1} for x ≤ −½, from so far beyond it that the start does not matter."""
    y = np.maximum(-x, _NEAR)
    top = float(n.max(initial=0))
    start = int(np.ceil((np.sqrt(top) + _FORGETS / y.min(initial=np.inf)) ** 2)) + 1
    q = (np.sqrt(y**2 + 4 * (start + 1)) - y) / 2
    last = q
    for k in range(start, 0, -1):
        q = k / (q + y)  # q_{k−1}
        last = np.where(k == n, q, last)
    return last


def _last_student_ratio(x: Floats, n: Floats, nu: Floats) -> Floats:
    """Return q_{n−1} for x ≤ 0, by quadrature over the angle ψ that a point of the ray is seen by.

    With cot ω = −x, T_k = sin^{−k} ω ∫_0^ω sin^k ψ sin^{c−k}(ω − ψ) dψ; sin^{η−1} is the weight.
    """
    eta = float((2 * nu - n - 1).flat[0]) if x.size else 1.0
    nodes, weights = _jacobi(eta)
    omega = np.arctan2(1.0, np.maximum(-x, 0.0))[..., None]
    left, rest = omega * (1 + nodes) / 2, omega * (1 - nodes) / 2
    power = np.maximum(n, 1)[..., None]
    log_common = (eta - 1) * np.log(np.sin(rest) / rest)
    log_common += (power - 1) * np.log(np.sin(left) / omega)
    common = weights * np.exp(log_common - log_common.max(axis=-1, keepdims=True))
    high, low = (common * np.sin(left)).sum(axis=-1), (common * np.sin(rest)).sum(axis=-1)
    return np.asarray(high / (low * np.sin(omega[..., 0])))


@lru_cache(maxsize=16)
def _jacobi(eta: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for (1 − u)^{η−1} on [−1, 1]."""
    nodes, weights = special.roots_jacobi(_NODES, eta - 1, 0)
    return nodes, weights / weights.sum()
