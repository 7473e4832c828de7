"""The loss: −ln of the integral of a density along the observed direction, from the margin on."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from dmrank.directional.projected import Density, FamilyName
from dmrank.torch.autograd import directional_log_likelihood
from dmrank.torch.checks import (
    check_degrees_of_freedom,
    check_density,
    check_family,
    check_margin,
    check_reduction,
    check_tensors,
)
from dmrank.torch.cones import GaussianCone, StudentCone
from dmrank.torch.criterion import Pairs
from dmrank.torch.families import GaussianRay, RayFamily, StudentRay
from dmrank.torch.scales import ScaleKind

Reduction = Literal["mean", "sum", "none"]


class DirectionalLoss(nn.Module):
    """The directional criterion as a loss: −ln ∫_ξ^∞ p(γd) dγ, all constants included.

    p is the density of the difference of two rating vectors, with the mean and the scale Σ that a
    model predicts; d is the observed difference. Gradients are exact, in closed form, and can be
    differentiated again.

    Parameters
    ----------
    margin : float
        Lower limit ξ ≥ 0 of the integral.
    family : {"gaussian", "student"}
        The density. Student's costs a pair that contradicts the model a logarithm, not a square; Σ
        is then its scale matrix, and its covariance Σ η/(η − 2).
    density : {"ray", "direction"}
        Along the ray of d, as in the paper, or that of its direction among all directions, with the
        factor γ^{K−1}: the projected normal or t, which shrinking μ and Σ together does not change.
    degrees_of_freedom : float or torch.Tensor
        η > 0 of the student family; a tensor (one number, or one per pair) may require a gradient.
    learn_degrees_of_freedom : bool
        Make ln η a parameter of this module, ``log_degrees_of_freedom``, that starts at
        ``degrees_of_freedom``.
    reduction : {"mean", "sum", "none"}
        ``"mean"`` divides the sum by that of the weights of the pairs that have a direction.

    Examples
    --------
    >>> loss = DirectionalLoss(margin=0.2)
    >>> mean = torch.tensor([[4.0, 3.0]], requires_grad=True)
    >>> value = loss(mean, torch.tensor([[2.0, -1.0]]))
    >>> value.backward()
    >>> print(f"{value.item():.4f}", mean.grad)
    11.7612 tensor([[1.9252, 4.0374]])
    """

    def __init__(
        self,
        margin: float = 0.2,
        family: FamilyName = "gaussian",
        degrees_of_freedom: float | Tensor = 4.0,
        learn_degrees_of_freedom: bool = False,
        reduction: Reduction = "mean",
        density: Density = "ray",
    ) -> None:
        super().__init__()
        check_density(density)
        check_margin(margin)
        check_family(family)
        check_degrees_of_freedom(degrees_of_freedom)
        check_reduction(reduction)
        if learn_degrees_of_freedom and (
            family != "student" or isinstance(degrees_of_freedom, Tensor)
        ):
            raise ValueError(
                "learn_degrees_of_freedom=True: give family='student' and a number to start at"
            )
        self.margin = margin
        self.family: FamilyName = family
        self.density: Density = density
        self.reduction: Reduction = reduction
        self.log_degrees_of_freedom: nn.Parameter | None = None
        self.given_degrees_of_freedom = degrees_of_freedom
        if learn_degrees_of_freedom and not isinstance(degrees_of_freedom, Tensor):
            start = torch.tensor(math.log(degrees_of_freedom))
            self.log_degrees_of_freedom = nn.Parameter(start)

    @property
    def degrees_of_freedom(self) -> float | Tensor:
        """η as it is now."""
        learned = self.log_degrees_of_freedom
        return self.given_degrees_of_freedom if learned is None else learned.exp()

    def forward(
        self,
        mean: Tensor,
        difference: Tensor,
        mask: Tensor | None = None,
        *,
        covariance: Tensor | None = None,
        scale_tril: Tensor | None = None,
        diagonal: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of pairs; see `directional_loss`."""
        return directional_loss(
            mean,
            difference,
            mask,
            covariance=covariance,
            scale_tril=scale_tril,
            diagonal=diagonal,
            weight=weight,
            margin=self.margin,
            family=self.family,
            degrees_of_freedom=self.degrees_of_freedom,
            reduction=self.reduction,
            density=self.density,
        )

    def extra_repr(self) -> str:
        """Return the parameters, as `print` shows them."""
        shown = f"margin={self.margin}, family={self.family!r}"
        if self.density != "ray":
            shown += f", density={self.density!r}"
        if self.family == "student":
            eta = torch.as_tensor(self.degrees_of_freedom)
            shown += f", degrees_of_freedom={eta.item() if eta.numel() == 1 else tuple(eta.shape)}"
        return f"{shown}, reduction={self.reduction!r}"


def directional_loss(
    mean: Tensor,
    difference: Tensor,
    mask: Tensor | None = None,
    *,
    covariance: Tensor | None = None,
    scale_tril: Tensor | None = None,
    diagonal: Tensor | None = None,
    weight: Tensor | None = None,
    margin: float = 0.2,
    family: FamilyName = "gaussian",
    degrees_of_freedom: float | Tensor = 4.0,
    reduction: Reduction = "mean",
    density: Density = "ray",
) -> Tensor:
    """Return the directional loss of pairs: what `DirectionalLoss` calls.

    Parameters
    ----------
    mean : torch.Tensor
        The predicted mean μ of the difference, of shape (..., K). Half precision is computed in
        float32, also under autocast.
    difference : torch.Tensor
        The observed difference d of two rating vectors, floating-point or whole numbers.
    mask : torch.Tensor, optional
        True where the pair has the aspect; others are marginalised, whatever the tensors hold there
        (also NaN).
    covariance, scale_tril, diagonal : torch.Tensor, optional
        Σ itself (..., K, K), its lower-triangular Cholesky factor L, or its diagonal (..., K); at
        most one, and I if none. Of a matrix only the lower triangle is looked at. All aspects
        there, L is used as it is: the most stable way to give a Σ that is nearly singular.
    weight : torch.Tensor, optional
        Weights of the pairs, of shape (...).
    margin, family, degrees_of_freedom, reduction, density
        See `DirectionalLoss`.

    Returns
    -------
    torch.Tensor
        A pair without a direction, d = 0 on the aspects it keeps, counts 0 and has gradients of 0.

    Examples
    --------
    >>> mean, difference = torch.tensor([[1.0, 2.0]]), torch.tensor([[2, 0]])
    >>> directional_loss(mean, difference, diagonal=torch.tensor([[0.5, 2.0]]), margin=0.0)
    tensor(3.0406)
    """
    check_margin(margin)
    check_family(family)
    check_reduction(reduction)
    check_density(density)
    check_degrees_of_freedom(degrees_of_freedom)
    given = {"covariance": covariance, "scale_tril": scale_tril, "diagonal": diagonal}
    scales = {name: scale for name, scale in given.items() if scale is not None}
    eta = degrees_of_freedom if isinstance(degrees_of_freedom, Tensor) else None
    eta = eta if family == "student" else None
    check_tensors(mean, difference, mask, scales, weight, eta)
    ray = _family(family, margin, degrees_of_freedom, density, mean.shape[-1])
    with torch.autocast(mean.device.type, enabled=False):
        dtype = _working_type(mean, *scales.values())
        kind, scale = _scale(scales, mask, dtype)
        eta = None if eta is None else eta.to(dtype)
        pairs = _aligned(mean.to(dtype), difference.to(dtype), mask, kind, scale, eta)
        losses = -directional_log_likelihood(pairs, ray, kind)
        return _reduce(losses, _has_direction(pairs, mask), weight, reduction)


def _family(
    family: FamilyName,
    margin: float,
    degrees_of_freedom: float | Tensor,
    density: Density,
    aspects: int,
) -> RayFamily:
    if family == "gaussian":
        along_ray = density == "ray"
        return GaussianRay(float(margin)) if along_ray else GaussianCone(float(margin), aspects)
    eta = None if isinstance(degrees_of_freedom, Tensor) else float(degrees_of_freedom)
    if density == "ray":
        return StudentRay(float(margin), eta)
    return StudentCone(float(margin), eta, aspects)


def _working_type(mean: Tensor, *scales: Tensor) -> torch.dtype:
    """Return float64 if mean or scale are, else float32."""
    return torch.float64 if torch.float64 in {t.dtype for t in (mean, *scales)} else torch.float32


def _scale(
    scales: dict[str, Tensor], mask: Tensor | None, dtype: torch.dtype
) -> tuple[ScaleKind, Tensor | None]:
    """Return what Σ is given as, and it."""
    for kind, scale in scales.items():
        if kind == "diagonal":
            return "diagonal", scale.to(dtype)
        if kind == "covariance":
            return "covariance", scale.to(dtype)
        if mask is None or _is_complete(mask):
            return "scale_tril", scale.to(dtype)
        # The rows of L that are kept are no triangle: Σ is padded and factorised anew.
        root = torch.tril(scale.to(dtype))
        return "covariance", root @ root.mT
    return "identity", None


def _is_complete(mask: Tensor) -> bool:
    """Return whether a mask keeps everything, as far as one may look."""
    if torch.compiler.is_compiling():
        return False
    try:
        return bool(mask.all())
    except RuntimeError:  # inside of vmap
        return False


def _aligned(
    mean: Tensor,
    difference: Tensor,
    mask: Tensor | None,
    kind: ScaleKind,
    scale: Tensor | None,
    eta: Tensor | None,
) -> Pairs:
    """Return pairs of one shape, without a copy of what they share."""
    kept = mask
    if kept is None:
        kept = torch.ones((), dtype=torch.bool, device=mean.device).expand(difference.shape)
    vectors, K = (mean, difference, kept), mean.shape[-1]
    matrix = (K,) if kind == "diagonal" else (K, K)
    leading = [vector.shape[:-1] for vector in vectors]
    if scale is not None:
        leading.append(scale.shape[: scale.ndim - len(matrix)])
    if eta is not None:
        leading.append(eta.shape)
    batch = leading[0]
    if any(shape != batch for shape in leading):
        batch = torch.broadcast_shapes(*leading)  # type: ignore[no-untyped-call]
    mean, difference, kept = (_expanded(vector, (*batch, K)) for vector in vectors)
    scale = None if scale is None else _expanded(scale, (*batch, *matrix))
    return Pairs(mean, difference, kept, scale, None if eta is None else _expanded(eta, batch))


def _expanded(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return it as it is where it can stay: each step back through an expansion takes time."""
    return tensor if tensor.shape == shape else tensor.expand(shape)


def _has_direction(pairs: Pairs, mask: Tensor | None) -> Tensor:
    difference = pairs.difference
    if mask is not None:
        difference = torch.where(pairs.kept, difference, 0.0)
    # The largest of numbers is found sooner than whether any of as many bits is set.
    return difference.abs().amax(-1) != 0


def _reduce(
    losses: Tensor, has_direction: Tensor, weight: Tensor | None, reduction: Reduction
) -> Tensor:
    if reduction == "none":
        return losses if weight is None else losses * weight.to(losses.dtype)
    weights = has_direction.to(losses.dtype)
    if weight is not None:
        weight = weight.to(losses.dtype)
        losses, weights = losses * weight, weights * weight
    if reduction == "sum":
        return losses.sum()
    total = weights.sum()
    return losses.sum() / torch.where(total == 0, 1.0, total)
