"""Random pairs for the loss, from the middle to the far tails."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the loss is for PyTorch, the extra neural")

from dmrank.directional import (  # noqa: E402
    Gaussian,
    ProjectedGaussian,
    ProjectedStudent,
    Student,
)
from dmrank.directional.families import Family  # noqa: E402
from dmrank.torch import directional_loss  # noqa: E402

FAMILIES = (
    Gaussian(margin=0.2),
    Student(degrees_of_freedom=3.3, margin=0.2),
    ProjectedGaussian(margin=0.2),
    ProjectedStudent(degrees_of_freedom=3.3, margin=0.2),
)
SCALES = ("covariance", "scale_tril", "diagonal", "identity")


class Case(NamedTuple):
    """Pairs, and their scale in each of the four ways."""

    mean: Any
    difference: Any
    mask: Any
    scales: dict[str, Any]

    def sigma(self, kind: str) -> np.ndarray:
        """Return Σ of each pair as a matrix."""
        if kind == "diagonal":
            return torch.diag_embed(self.scales["diagonal"]).numpy()
        if kind == "identity":
            return np.broadcast_to(np.eye(self.mean.shape[1]), self.scales["covariance"].shape)
        return self.scales["covariance"].numpy()

    def scale(self, kind: str) -> dict[str, Any]:
        """Return the scale as an argument of the loss."""
        return {} if kind == "identity" else {kind: self.scales[kind]}


def random_case(
    pairs: int = 40,
    aspects: int = 4,
    *,
    seed: int = 0,
    missing: float = 0.3,
    size: float = 1.0,
    dtype: Any = torch.float64,
) -> Case:
    """Draw pairs; the first has no direction, the second keeps nothing if ``missing`` is not 0."""
    rng = np.random.default_rng(seed)
    mean = size * rng.normal(size=(pairs, aspects))
    difference = rng.integers(-4, 5, (pairs, aspects)).astype(float)
    difference[0] = 0
    mask = rng.random((pairs, aspects)) >= missing
    mask[1] &= missing == 0
    factor = rng.normal(size=(pairs, aspects, aspects))
    covariance = factor @ factor.transpose(0, 2, 1) + 0.3 * np.eye(aspects)
    tensors = (torch.tensor(array, dtype=dtype) for array in (mean, difference, covariance))
    mean, difference, covariance = tensors
    scales = {
        "covariance": covariance,
        "scale_tril": torch.linalg.cholesky(covariance),
        "diagonal": torch.diagonal(covariance, dim1=1, dim2=2).clone(),
    }
    return Case(mean, difference, torch.tensor(mask), scales)


def loss_of(family: Family, mean: Any, difference: Any, mask: Any = None, **scale: Any) -> Any:
    """Return the loss of each pair."""
    eta = {"degrees_of_freedom": family.degrees_of_freedom} if isinstance(family, Student) else {}
    name = "student" if eta else "gaussian"
    is_cone = isinstance(family, ProjectedGaussian | ProjectedStudent)
    options = {"margin": family.margin, "family": name, "reduction": "none", **eta}
    options["density"] = "direction" if is_cone else "ray"
    return directional_loss(mean, difference, mask, **scale, **options)


def differentiated(family: Family, case: Case, kind: str, mask: Any) -> tuple[Any, ...]:
    """Return the loss of each pair and the gradients of its sum by mean and scale."""
    mean = case.mean.clone().requires_grad_()
    scale = {name: tensor.clone().requires_grad_() for name, tensor in case.scale(kind).items()}
    loss = loss_of(family, mean, case.difference, mask, **scale)
    loss.sum().backward()
    by_scale = [tensor.grad for tensor in scale.values()]
    return (loss.detach(), mean.grad, *by_scale)
