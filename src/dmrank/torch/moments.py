"""Moments along a ray for tensors, which the density of a direction takes (`directional.moments`).

In units of √κ, as in `directional.moment_lanes`, with 1/c = 0 and R = 1 for the normal. The last
ratio for x < 0 comes from a double exponential rule, v = s exp((π/2) sinh t), for T_{n−1} and T_n
at once. Everything is made of functions that can be differentiated again, also by κ; a branch that
is not taken sees x = 0, so that its gradients are finite.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from dmrank.torch.survival import (
    normal_hazard,
    normal_log_survival,
    student_hazard,
    student_log_survival,
)

# Ends and step of the rule: relative errors below 1e-13 and 1e-6. With η = ½ the integrand ends as
# v^−1.5: the rule goes far out.
_STEPS = {torch.float64: (-4.0, 4.6, 0.06), torch.float32: (-3.2, 3.7, 0.12)}


class Moments(NamedTuple):
    """ln J_n/T_0, and the derivatives of ln J_n by m (slope) and by −a (edge)."""

    log_share: Tensor
    slope: Tensor
    edge: Tensor


def moments(x: Tensor, a: Tensor, n: Tensor, kappa: Tensor | None, most: int) -> Moments:
    """Return the moments of order n, at most ``most``; ``kappa`` is None for the normal.

    Examples
    --------
    >>> zero, two = torch.zeros(1), torch.full((1,), 2.0)
    >>> log_integral = moments(zero, zero, two, None, most=2).log_share + log_first(zero, None)
    >>> print(log_integral.exp())  # √(π/2)
    tensor([1.2533])
    """
    hazard = _hazard(x, kappa)
    ratios, last = _ratios(x, n, kappa, most)
    scale = 1 / (a + last)
    share = a * scale
    products = [torch.ones_like(x)]
    for ratio in ratios:
        products.append(products[-1] * ratio * scale)
    whole, below, edge = products[0], torch.zeros_like(x), hazard
    # J_j = Σ_k C(j,k) a^{j−k} T_k by j rounds of T_k ← a T_k + T_{k+1}; each pair stops at its n.
    for j in range(1, most + 1):
        before = products[0]
        products = [share * one + other for one, other in pairwise(products)]
        goes_on = n > j - 0.5
        whole = torch.where(goes_on, products[0], whole)
        below = torch.where(goes_on, before, below)
        edge = torch.where(goes_on, share * edge, edge)
    edge = edge / whole
    log_share = torch.log(whole) - n * torch.log(scale)
    return Moments(log_share, n * scale * below / whole + edge, edge)


def log_first(x: Tensor, kappa: Tensor | None) -> Tensor:
    """Return ln T_0."""
    if kappa is None:
        return normal_log_survival(-x) + 0.5 * math.log(2 * math.pi)
    log_norm = torch.lgamma(0.5 * kappa) - torch.lgamma(0.5 * (kappa + 1))
    return student_log_survival(-x, kappa) + log_norm + 0.5 * torch.log(math.pi * kappa)


def _hazard(x: Tensor, kappa: Tensor | None) -> Tensor:
    """Return k(x)/T_0."""
    return normal_hazard(-x) if kappa is None else student_hazard(-x, kappa)


def _ratios(x: Tensor, n: Tensor, kappa: Tensor | None, most: int) -> tuple[list[Tensor], Tensor]:
    """Return q_0, q_1, … (1 beyond q_{n−1}), and q_{n−1} itself (1 where n = 0)."""
    is_left = x < 0
    right, left = torch.where(is_left, 0.0, x), torch.where(is_left, x, 0.0)
    up, last = _first_ratio(right, n, kappa), torch.where(is_left, _last_ratio(left, n, kappa), 1.0)
    ups, downs = [up], [last] * most
    for k in range(1, most):
        along, rest, divisor = _coefficients(right, n, kappa, k)
        up = torch.where(k < n, (along * right + rest / up) / divisor, 1.0)
        ups.append(up)
    for k in range(most - 1, 0, -1):
        along, rest, divisor = _coefficients(left, n, kappa, k)
        below = rest / (divisor * downs[k] - along * left)
        downs[k - 1] = torch.where(k < n, below, last)
    ratios = [torch.where(is_left, down, up) for down, up in zip(downs, ups, strict=False)]
    end = torch.ones_like(x)
    for k, ratio in enumerate(ratios):
        end = torch.where(n == k + 1, ratio, end)
    return ratios, end


def _coefficients(
    x: Tensor, n: Tensor, kappa: Tensor | None, k: int
) -> tuple[Tensor | float, Tensor | float, Tensor | float]:
    """Return 1 − 2k/c, kR and 1 − k/c of the recursion; those beyond the last are not used."""
    if kappa is None:
        return 1.0, float(k), 1.0
    inverse = torch.where(k < n, 1 / torch.where(k < n, kappa - 1, 1.0), 0.0)
    return 1 - 2 * k * inverse, k * (kappa + x * x) * inverse, 1 - k * inverse


def _first_ratio(x: Tensor, n: Tensor, kappa: Tensor | None) -> Tensor:
    if kappa is None:
        return x + _hazard(x, kappa)
    return x + (kappa + x * x) * _hazard(x, kappa) / torch.where(n > 0, kappa - 1, 1.0)


def _last_ratio(x: Tensor, n: Tensor, kappa: Tensor | None) -> Tensor:
    """Return q_{n−1} = T_n/T_{n−1} for x ≤ 0; of no consequence where n = 0."""
    power = torch.clamp(n, min=1)
    # Where v^n k(v − x) is largest, with ln k to the second order at 0.
    rate, bend = -x, torch.ones_like(x)
    if kappa is not None:
        bend = (kappa + 1) / (kappa + x * x)
        rate = rate * bend
    with torch.no_grad():
        peak = 2 * power / (rate + torch.sqrt(rate**2 + 4 * power * bend))
    first, end, step = _STEPS[torch.float64 if x.dtype == torch.float64 else torch.float32]
    t = torch.arange(first, end, step, dtype=x.dtype, device=x.device)
    grow = 0.5 * math.pi * torch.sinh(t)
    log_weight = torch.log(torch.cosh(t)) + grow
    v = peak[..., None] * torch.exp(grow)
    # ln k(v − x) − ln k(x): both alone are large where x is.
    square = v * (v - 2 * x[..., None])
    if kappa is None:
        log_kernel = -0.5 * square
    else:
        width = (kappa + x * x)[..., None]
        log_kernel = -0.5 * (kappa + 1)[..., None] * torch.log1p(square / width)
    log_terms = log_weight + log_kernel + (power - 1)[..., None] * grow
    top = torch.logsumexp(log_terms + grow, -1)
    return peak * torch.exp(top - torch.logsumexp(log_terms, -1))
