"""The criterion of many pairs in PyTorch: log-likelihood and gradients in closed form.

Everything is made of functions that can be differentiated, so that gradients have gradients;
nothing depends on what the numbers are, so that it can be compiled and mapped.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dmrank.torch.families import RayFamily
from dmrank.torch.scales import ScaleKind, scale_gradient, unwhiten, whiten, whitening


class Pairs(NamedTuple):
    """What the criterion sees of a batch of pairs, of any number of leading dimensions.

    Attributes
    ----------
    mean
        The predicted mean μ, of shape (..., K).
    difference
        The observed difference d.
    kept
        Whether the pair keeps the aspect.
    scale
        Σ as ``kind`` says; None for the identity.
    eta
        The degrees of freedom, of shape (...), where they are a tensor.
    """

    mean: Tensor
    difference: Tensor
    kept: Tensor
    scale: Tensor | None
    eta: Tensor | None

    def masks_nothing(self) -> bool:
        """Return whether no mask was given: one True stands for all."""
        return not any(self.kept.stride())


class Gradients(NamedTuple):
    """Gradients of the log-likelihood, 0 for dropped aspects and pairs without a direction."""

    mean: Tensor
    scale: Tensor | None
    eta: Tensor | None


class _Ray(NamedTuple):
    """The ray statistics, the number of kept aspects, how pairs were whitened, and y and r."""

    E: Tensor
    A: Tensor
    rho: Tensor
    aspects: Tensor
    has_direction: Tensor
    root: Tensor | None
    log_determinant: Tensor | float
    whitened: Tensor


def log_likelihood(pairs: Pairs, family: RayFamily, kind: ScaleKind) -> Tensor:
    """Return ln ∫_ξ^∞ p(γd) dγ of each pair, 0 without a direction."""
    ray = _follow(pairs, kind)
    value = family.value(ray.E, ray.A, ray.rho, ray.aspects, pairs.eta) - 0.5 * ray.log_determinant
    return torch.where(ray.has_direction, value, 0.0)


def gradients(pairs: Pairs, family: RayFamily, kind: ScaleKind) -> Gradients:
    """Return ∂/∂μ = 2f_E e + (f_ρ/A) s, the gradient by the scale, and that by η."""
    ray = _follow(pairs, kind)
    f = family.derivatives(ray.E, ray.A, ray.rho, ray.aspects, pairs.eta)
    back = unwhiten(ray.root, ray.whitened)
    s, e = back.unbind(-1)
    by_mean = 2 * f.E[..., None] * e + (f.rho / ray.A)[..., None] * s
    counts = pairs.kept & ray.has_direction[..., None]
    by_scale = None
    if ray.root is not None:
        by_scale = scale_gradient(kind, ray.root, ray.whitened, back, f, ray.A)
        matters = counts
        if kind != "diagonal":
            matters = counts[..., :, None] & counts[..., None, :]
        by_scale = torch.where(matters, by_scale, 0.0)
    by_eta = None if f.eta is None else torch.where(ray.has_direction, f.eta, 0.0)
    return Gradients(torch.where(counts, by_mean, 0.0), by_scale, by_eta)


def _follow(pairs: Pairs, kind: ScaleKind) -> _Ray:
    """Reduce pairs to their ray statistics, in whitened space: E is then a sum of squares."""
    d = torch.where(pairs.kept, pairs.difference, 0.0)
    mean = torch.where(pairs.kept, pairs.mean, 0.0)
    root, log_determinant = whitening(kind, pairs.scale, pairs.kept)
    y, z = whiten(root, torch.stack([d, mean], dim=-1)).unbind(-1)
    square = (y * y).sum(-1)
    # Also where it is NaN, so that a NaN is not taken for a pair without a direction.
    has_direction = ~(square < torch.finfo(square.dtype).tiny)
    A = torch.where(has_direction, square, 1.0)
    rho = (y * z).sum(-1) / A
    r = z - rho[..., None] * y
    aspects = pairs.kept.sum(-1).clamp(min=1).to(mean.dtype)
    E, whitened = (r * r).sum(-1), torch.stack([y, r], dim=-1)
    return _Ray(E, A, rho, aspects, has_direction, root, log_determinant, whitened)
