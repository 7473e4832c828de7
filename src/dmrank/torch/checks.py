"""What arguments of the loss must be; errors are those that PyTorch would raise, in one line."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dmrank.torch.criterion import Pairs
from dmrank.torch.scales import ScaleKind, cholesky, padded

_WIDTHS = {"covariance": 2, "scale_tril": 2, "diagonal": 1}
_REDUCTIONS = ("mean", "sum", "none")
_DENSITIES = ("ray", "direction")
_FAMILIES = ("gaussian", "student")


def check_margin(margin: float) -> None:
    """Refuse a margin that is no number from 0 on."""
    if not (math.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin={margin!r}: give a number that is not negative, such as 0.2")


def check_family(family: str) -> None:
    """Refuse a family that there is not."""
    if family not in _FAMILIES:
        raise ValueError(f"family={family!r}: give 'gaussian' or 'student'")


def check_density(density: str) -> None:
    """Refuse a density that there is not."""
    if density not in _DENSITIES:
        raise ValueError(f"density={density!r}: give 'ray' or 'direction'")


def check_reduction(reduction: str) -> None:
    """Refuse a reduction that there is not."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction={reduction!r}: give 'mean', 'sum' or 'none'")


def check_degrees_of_freedom(degrees_of_freedom: float | Tensor) -> None:
    """Refuse degrees of freedom that are no numbers above 0."""
    if isinstance(degrees_of_freedom, Tensor):
        check_floating("degrees_of_freedom", degrees_of_freedom)
        return
    if not (math.isfinite(degrees_of_freedom) and degrees_of_freedom > 0):
        raise ValueError(f"degrees_of_freedom={degrees_of_freedom!r}: give a number above 0")


def check_floating(name: str, tensor: object) -> None:
    """Refuse what is no tensor of floating-point numbers."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is {type(tensor).__name__}: give a tensor")
    if not tensor.is_floating_point():
        raise TypeError(f"{name} is {tensor.dtype}: give floating-point numbers, {name}.float()")


def check_tensors(
    mean: Tensor,
    difference: Tensor,
    mask: Tensor | None,
    scales: dict[str, Tensor],
    weight: Tensor | None,
    eta: Tensor | None,
) -> None:
    """Refuse tensors of types, devices and shapes that do not fit the mean."""
    check_floating("mean", mean)
    if not isinstance(difference, Tensor):
        raise TypeError(f"difference is {type(difference).__name__}: give a tensor")
    if difference.requires_grad:
        raise ValueError("difference requires a gradient: it is data, give difference.detach()")
    if len(scales) > 1:
        raise ValueError(f"{' and '.join(scales)} are given: give one of them")
    if mean.ndim == 0 or mean.shape[-1] == 0:
        raise ValueError(f"mean has shape {tuple(mean.shape)}: give (..., K) with K aspects")
    _check_fit(mean, "difference", difference, 1)
    if mask is not None:
        if mask.dtype != torch.bool:
            raise TypeError(f"mask is {mask.dtype}: give torch.bool, True where the pair has it")
        _check_fit(mean, "mask", mask, 1)
    for name, scale in scales.items():
        check_floating(name, scale)
        _check_fit(mean, name, scale, _WIDTHS[name])
    for name, numbers in (("weight", weight), ("degrees_of_freedom", eta)):
        if numbers is not None:
            check_floating(name, numbers)
            _check_fit(mean, name, numbers, 0)


def _check_fit(mean: Tensor, name: str, tensor: Tensor, width: int) -> None:
    """Refuse a tensor that is not on the mean's device, or not (..., K), (..., K, K) or (...)."""
    if tensor.device != mean.device:
        raise RuntimeError(
            f"mean is on {mean.device} and {name} on {tensor.device}: give one device"
        )
    batch, K = mean.shape[:-1], mean.shape[-1]
    expected = ("...", *("K" * width))
    fits = tensor.ndim >= width and tensor.shape[tensor.ndim - width :] == (K,) * width
    if fits:
        leading = tensor.shape[: tensor.ndim - width]
        fits = _broadcasts(batch, leading)
    if not fits:
        raise ValueError(
            f"mean has shape {tuple(mean.shape)} and {name} {tuple(tensor.shape)}: "
            f"give {name} as ({', '.join(expected)}) with K = {K}"
        )


def _broadcasts(batch: tuple[int, ...], leading: tuple[int, ...]) -> bool:
    sizes = zip(reversed(batch), reversed(leading), strict=False)
    return all(a == b or 1 in (a, b) for a, b in sizes)


def check_values(value: Tensor, pairs: Pairs, kind: ScaleKind) -> None:
    """Refuse numbers of which there is no log-likelihood, and say which pair has them."""
    difference, mean = pairs.difference, pairs.mean
    if not pairs.masks_nothing():
        difference = torch.where(pairs.kept, difference, 0.0)
        mean = torch.where(pairs.kept, mean, 0.0)
    # A sum is the quickest way to look at all numbers. A value need not show what is wrong: the
    # kernels take NaN in d for a mask, and a pair without a direction counts 0 whatever its mean.
    if math.isfinite(float(difference.sum() + mean.sum() + value.sum())):
        return
    for name, numbers in (("difference", difference), ("mean", mean)):
        _refuse_first(~torch.isfinite(numbers).all(-1), name, "is not finite where mask keeps it")
    if pairs.eta is not None:
        wrong = ~((pairs.eta > 0) & torch.isfinite(pairs.eta))
        _refuse_first(wrong, "degrees_of_freedom", "are not above 0")
    if pairs.scale is not None:
        _refuse_first(_is_improper(pairs, kind), kind, _PROPER[kind])
    _refuse_first(torch.isnan(value), "loss", "is not a number")


_PROPER = {
    "diagonal": "is not finite and above 0",
    "covariance": "is not positive definite",
    "scale_tril": "is not finite with a diagonal other than 0",
}


def _is_improper(pairs: Pairs, kind: ScaleKind) -> Tensor:
    assert pairs.scale is not None
    scale, kept = pairs.scale, pairs.kept
    if kind == "diagonal":
        return ~(torch.isfinite(scale) & (scale > 0) | ~kept).all(-1)
    if kind == "scale_tril":
        diagonal = torch.diagonal(scale, dim1=-2, dim2=-1)
        return ~(torch.isfinite(torch.tril(scale)).all(-1).all(-1) & (diagonal != 0).all(-1))
    return ~torch.isfinite(cholesky(padded(scale, kept))).all(-1).all(-1)


def _refuse_first(wrong: Tensor, name: str, what: str) -> None:
    if bool(wrong.any()):
        places = wrong.nonzero()
        first = ", ".join(str(int(i)) for i in places[0])
        more = f" (and of {len(places) - 1:,} more)" if len(places) > 1 else ""
        of_pair = f" of pair {first}{more}" if first else ""
        raise ValueError(f"{name}{of_pair} {what}")
