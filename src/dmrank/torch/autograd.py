"""The criterion as a function of autograd: gradients in closed form, of any order."""

from __future__ import annotations

from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from dmrank.torch import fast
from dmrank.torch.checks import check_values
from dmrank.torch.criterion import Pairs, gradients, log_likelihood
from dmrank.torch.families import RayFamily
from dmrank.torch.scales import ScaleKind


def directional_log_likelihood(pairs: Pairs, family: RayFamily, kind: ScaleKind) -> Tensor:
    """Return the log-likelihood of each pair, to be differentiated by mean, scale and η."""
    if pairs.eta is not None and not family.knows_eta:
        value = log_likelihood(pairs, family, kind)  # autograd finds the gradients by itself
        if not torch.compiler.is_compiling():
            with torch.no_grad():
                check_values(value, pairs, kind)
        return value
    value, *_ = _LogLikelihood.apply(*pairs, family, kind)  # type: ignore[no-untyped-call]
    return value


class _LogLikelihood(Function):
    """Its first gradients come with the value where the kernels compute both in one go."""

    @staticmethod
    def forward(
        mean: Tensor,
        difference: Tensor,
        kept: Tensor,
        scale: Tensor | None,
        eta: Tensor | None,
        family: RayFamily,
        kind: ScaleKind,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        pairs = Pairs(mean, difference, kept, scale, eta)
        if torch.compiler.is_compiling():
            return log_likelihood(pairs, family, kind), None, None
        value, by_mean, by_scale = _evaluate(pairs, family, kind)
        check_values(value, pairs, kind)
        return value, by_mean, by_scale

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        *tensors, ctx.family, ctx.kind = inputs
        known = output[1:]
        ctx.mark_non_differentiable(*(tensor for tensor in known if tensor is not None))
        ctx.save_for_backward(*tensors, *known)
        ctx.set_materialize_grads(False)  # nobody asks for those of the gradients

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        if gradient is None:
            return (None,) * 7
        *tensors, by_mean, by_scale = ctx.saved_tensors
        by_eta = None
        # What autograd is to differentiate once more has to be made of functions it knows.
        if by_mean is None or torch.is_grad_enabled():
            with torch.autocast(gradient.device.type, enabled=False):
                by_mean, by_scale, by_eta = gradients(Pairs(*tensors), ctx.family, ctx.kind)
        by_mean, by_scale, by_eta = (_times(gradient, by) for by in (by_mean, by_scale, by_eta))
        return by_mean, None, None, by_scale, by_eta, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Any
    ) -> tuple[tuple[Tensor | None, ...], tuple[int | None, ...]]:
        """Make the mapped dimension one more of the leading ones, of which there may be any."""

        def lead(value: Any, dimension: int | None) -> Any:
            if not isinstance(value, Tensor):
                return value
            if dimension is None:
                return value.expand(info.batch_size, *value.shape)
            return value.movedim(dimension, 0)

        found = _LogLikelihood.apply(*map(lead, inputs, in_dims))  # type: ignore[no-untyped-call]
        return found, tuple(None if tensor is None else 0 for tensor in found)


# PyTorch asks for it at every call, and Python makes it anew each time unless it is noted.
_LogLikelihood.forward.__signature__ = signature(_LogLikelihood.forward)  # type: ignore[attr-defined]


def _times(gradient: Tensor, derivative: Tensor | None) -> Tensor | None:
    """Return the product, one number of the gradient for each pair."""
    if derivative is None:
        return None
    return gradient.reshape(*gradient.shape, *(1,) * (derivative.ndim - gradient.ndim)) * derivative


def _evaluate(
    pairs: Pairs, family: RayFamily, kind: ScaleKind
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    mean, known = pairs.mean, family.compiled
    is_matrix = kind in ("covariance", "scale_tril")
    if known is not None and is_matrix and mean.dtype == torch.float32 and mean.is_cpu:
        return fast.evaluate(pairs, known, kind == "scale_tril")
    return log_likelihood(pairs, family, kind), None, None
