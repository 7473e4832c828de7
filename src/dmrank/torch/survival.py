"""Survival functions and hazards of the normal and of Student's t, to be differentiated twice.

PyTorch has no incomplete beta function, and no function has a closed derivative by the degrees of
freedom κ. With w = (1 + x²/κ)^{−½}, z = w² and x̃ = xw, the survival function is, for x ≥ 0,

    S(x) = c w^κ m ,   m = ∫_0^∞ e^{−u} Q^{−½} du ,   Q = x̃² + z κ(1 − e^{−2u/κ})

with c the density at 0: m is Mills' ratio scaled by w (see `directional.survival`), and so is the
hazard h = w/m. Derivatives by κ go under the integral. With u = s x̃ + s²/2 its integrand is smooth,
and a double exponential rule gives it to the last digits, for every κ.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

# First t, end and step of the rule: beyond them the integrand is below the last digit, and the step
# leaves relative errors below 1e-14 and 1e-6 for κ from 0.1 to infinity.
_STEPS = {torch.float64: (-3.7, 3.7, 0.105), torch.float32: (-2.75, 3.5, 0.25)}
# s is stretched by 1/(x̃ + 2): the integrand falls off like e^{−s²/2} or e^{−s x̃}.
_SHIFT = 2.0
# Below it, 1 − (1 + a)e^{−a} comes from its series: the difference has no digits left.
_SMALL = 1e-2


def normal_log_survival(x: Tensor) -> Tensor:
    """Return ln(1 − Φ(x)).

    Examples
    --------
    >>> normal_log_survival(torch.tensor([-20.0, 0.0, 1e4]))
    tensor([-0.0000e+00, -6.9315e-01, -5.0000e+07])
    """
    return _NormalLogSurvival.apply(x)  # type: ignore[no-untyped-call]


def normal_hazard(x: Tensor) -> Tensor:
    """Return h(x) = density/survival of the normal, which grows like x.

    Examples
    --------
    >>> normal_hazard(torch.tensor([-1e4, 0.0, 1e4]))
    tensor([0.0000e+00, 7.9788e-01, 1.0000e+04])
    """
    return _NormalHazard.apply(x)  # type: ignore[no-untyped-call]


def student_log_survival(x: Tensor, kappa: Tensor) -> Tensor:
    """Return ln(1 − T_κ(x)) of tensors of one shape.

    Examples
    --------
    >>> student_log_survival(torch.tensor([0.0, 1e6]), torch.tensor([200.0, 200.0]))
    tensor([-6.9315e-01, -2.2368e+03])
    """
    return _StudentLogSurvival.apply(x, kappa)  # type: ignore[no-untyped-call]


def student_hazard(x: Tensor, kappa: Tensor) -> Tensor:
    """Return h(x) = density/survival of Student's t, which falls like κ/x.

    Examples
    --------
    >>> student_hazard(torch.tensor([0.0, 1e6]), torch.tensor([200.0, 200.0]))
    tensor([7.9689e-01, 2.0000e-04])
    """
    return _StudentHazard.apply(x, kappa)  # type: ignore[no-untyped-call]


def student_log_survival_by_kappa(x: Tensor, kappa: Tensor) -> Tensor:
    """Return ∂ ln(1 − T_κ(x))/∂κ.

    Examples
    --------
    >>> student_log_survival_by_kappa(torch.tensor([1.0, 3.0]), torch.tensor([4.0, 4.0]))
    tensor([-0.0352, -0.3191])
    """
    return _StudentLogSurvivalByKappa.apply(x, kappa)  # type: ignore[no-untyped-call]


class _Smooth(Function):
    """A function of tensors whose derivatives are made of functions that can be differentiated."""

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)


class _NormalLogSurvival(_Smooth):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.special.log_ndtr(-x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        x, _ = ctx.saved_tensors
        return -gradient * normal_hazard(x)


class _NormalHazard(_Smooth):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return math.sqrt(2 / math.pi) / torch.special.erfcx(x * math.sqrt(0.5))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        x, h = ctx.saved_tensors
        return gradient * h * (h - x)


class _StudentLogSurvival(_Smooth):
    @staticmethod
    def forward(x: Tensor, kappa: Tensor) -> Tensor:
        (m,) = _scaled_mills(x.abs(), kappa, derivatives=0)
        log_scale = _log_density_at_0(kappa) - 0.5 * kappa * torch.log1p(x * x / kappa)
        mirrored = torch.log1p(-torch.exp(log_scale) * m)
        return torch.where(x < 0, mirrored, log_scale + torch.log(m))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        x, kappa, _ = ctx.saved_tensors
        by_kappa = None
        if ctx.needs_input_grad[1]:
            by_kappa = gradient * student_log_survival_by_kappa(x, kappa)
        return -gradient * student_hazard(x, kappa), by_kappa


class _StudentHazard(_Smooth):
    @staticmethod
    def forward(x: Tensor, kappa: Tensor) -> Tensor:
        (m,) = _scaled_mills(x.abs(), kappa, derivatives=0)
        ratio = x * x / kappa
        w = torch.rsqrt(1 + ratio)
        scale = torch.exp(_log_density_at_0(kappa) - 0.5 * kappa * torch.log1p(ratio))
        return torch.where(x < 0, scale * w / (1 - scale * m), w / m)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        x, kappa, h = ctx.saved_tensors
        by_x = gradient * h * (h - (kappa + 1) * x / (kappa + x * x))
        by_kappa = None
        if ctx.needs_input_grad[1]:
            by_kappa = gradient * _hazard_by_kappa(x, kappa, h)
        return by_x, by_kappa


class _StudentLogSurvivalByKappa(_Smooth):
    @staticmethod
    def forward(x: Tensor, kappa: Tensor) -> Tensor:
        first, _ = _by_kappa(x, kappa)
        return first

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        x, kappa, _ = ctx.saved_tensors
        by_x = -gradient * _hazard_by_kappa(x, kappa, student_hazard(x, kappa))
        by_kappa = gradient * _by_kappa(x, kappa)[1] if ctx.needs_input_grad[1] else None
        return by_x, by_kappa


def _hazard_by_kappa(x: Tensor, kappa: Tensor, h: Tensor) -> Tensor:
    """Return ∂h/∂κ: ln h is the logarithm of the density less that of the survival function."""
    square = x * x
    by_density = (
        _log_density_at_0_by_kappa(kappa)
        - 0.5 * torch.log1p(square / kappa)
        + 0.5 * (kappa + 1) * square / (kappa * (kappa + square))
    )
    return h * (by_density - student_log_survival_by_kappa(x, kappa))


def _by_kappa(x: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and second derivative of ln S by κ."""
    square = x * x
    m, by_m, by_by_m = _scaled_mills(x.abs(), kappa, derivatives=2)
    log_scale = _log_density_at_0(kappa) - 0.5 * kappa * torch.log1p(square / kappa)
    share = square / (kappa + square)
    first = (
        _log_density_at_0_by_kappa(kappa) + 0.5 * (share - torch.log1p(square / kappa)) + by_m / m
    )
    second = (
        0.25 * (torch.polygamma(1, 0.5 * (kappa + 1)) - torch.polygamma(1, 0.5 * kappa))
        + 0.5 / kappa**2
        + 0.5 * share**2 / kappa
        + by_by_m / m
        - (by_m / m) ** 2
    )
    # Left of 0, S is 1 − T with T the survival function at |x|.
    beyond = torch.exp(log_scale) * m
    odds = beyond / (1 - beyond)
    mirrored = -odds * (second + first**2 * (1 + odds))
    return torch.where(x < 0, -odds * first, first), torch.where(x < 0, mirrored, second)


def _log_density_at_0(kappa: Tensor) -> Tensor:
    # In double: the logarithms of gamma functions are large, and their difference is small.
    wide = kappa.double()
    gammas = torch.lgamma(0.5 * (wide + 1)) - torch.lgamma(0.5 * wide)
    return (gammas - 0.5 * torch.log(math.pi * wide)).to(kappa.dtype)


def _log_density_at_0_by_kappa(kappa: Tensor) -> Tensor:
    wide = kappa.double()
    gammas = torch.digamma(0.5 * (wide + 1)) - torch.digamma(0.5 * wide)
    return (0.5 * (gammas - 1 / wide)).to(kappa.dtype)


def _scaled_mills(x: Tensor, kappa: Tensor, derivatives: int) -> tuple[Tensor, ...]:
    """Return m at x ≥ 0, and its derivatives by κ at the same x."""
    nodes, weights = _rule(x)
    x, kappa = x[..., None], kappa[..., None]
    total = kappa + x * x
    z, rest = kappa / total, x * x / total
    right = x * torch.sqrt(z)
    stretch = 1 / (right + _SHIFT)
    s = nodes * stretch
    u = s * (0.5 * s + right)
    a = 2 * u / kappa
    q = -kappa * torch.expm1(-a)
    inverse_Q = 1 / (right * right + z * q)
    weighted = weights * stretch * torch.exp(-u) * (s + right) * torch.sqrt(inverse_Q)
    m = weighted.sum(-1)
    if derivatives == 0:
        return (m,)
    decay = torch.exp(-a)
    by_q = torch.where(a < _SMALL, a * a * (0.5 - a * (1 / 3 - a / 8)), 1 - (1 + a) * decay)
    by_Q = rest * rest + rest / total * q + z * by_q
    by_by_Q = (
        -2 * rest / total * (rest + q / total) + 2 * rest / total * by_q - z * a * a * decay / kappa
    )
    first = -0.5 * (weighted * inverse_Q * by_Q).sum(-1)
    second = (weighted * inverse_Q * (0.75 * inverse_Q * by_Q * by_Q - 0.5 * by_by_Q)).sum(-1)
    return m, first, second


def _rule(like: Tensor) -> tuple[Tensor, Tensor]:
    """Return nodes s and weights of ∫_0^∞ ds, with s = exp(t − e^{−t}) in equal steps of t."""
    first, end, step = _STEPS[like.dtype]
    t = torch.arange(first, end, step, dtype=like.dtype, device=like.device)
    s = torch.exp(t - torch.exp(-t))
    return s, step * s * (1 + torch.exp(-t))
