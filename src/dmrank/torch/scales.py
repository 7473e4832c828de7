"""The four ways to give the scale Σ of a pair: whitening by it, and the gradient by it.

With Σ = C Cᵀ, y = C⁻¹d and z = C⁻¹μ are whitened; s = C⁻ᵀy and e = C⁻ᵀr lead back (see
`directional.kernels`). Σ is padded where an aspect is dropped: 1 on its diagonal, 0 in the rest of
its row and column.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from dmrank.torch.families import Derivatives

ScaleKind = Literal["identity", "diagonal", "covariance", "scale_tril"]

# A pivot of this many roundings of its diagonal element, or less, is noise: so much it is at least.
_ROUNDINGS_OF_A_PIVOT = 8


class Whitening(NamedTuple):
    """ln|Σ|, and C: a matrix, the roots of a diagonal, or None for the identity."""

    root: Tensor | None
    log_determinant: Tensor | float


def whitening(kind: ScaleKind, scale: Tensor | None, kept: Tensor) -> Whitening:
    """Return what whitens a pair; a root is NaN where Σ is not positive definite."""
    if scale is None:
        return Whitening(None, 0.0)
    if kind == "diagonal":
        variances = torch.where(kept, scale, 1.0)
        return Whitening(torch.sqrt(variances), torch.log(variances).sum(-1))
    root = cholesky(padded(scale, kept)) if kind == "covariance" else torch.tril(scale)
    diagonal = torch.diagonal(root, dim1=-2, dim2=-1)
    return Whitening(root, 2 * torch.log(diagonal.abs()).sum(-1))


def padded(covariance: Tensor, kept: Tensor) -> Tensor:
    """Return Σ with rows and columns of the identity where an aspect is dropped."""
    both = kept[..., :, None] & kept[..., None, :]
    identity = torch.eye(covariance.shape[-1], dtype=covariance.dtype, device=covariance.device)
    return torch.where(both, covariance, identity)


def cholesky(covariance: Tensor) -> Tensor:
    """Return C with Σ = C Cᵀ, column by column.

    Unlike `torch.linalg.cholesky` it gives a matrix that is singular but for rounding a factor, and
    one that is not positive definite NaN in place of an error.

    Examples
    --------
    >>> cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    K = covariance.shape[-1]
    smallest = _ROUNDINGS_OF_A_PIVOT * torch.finfo(covariance.dtype).eps
    columns: list[Tensor] = []
    for j in range(K):
        column = covariance[..., j:, j]
        noise = smallest * column[..., 0]
        for k, before in enumerate(columns):
            column = column - before[..., j - k :] * before[..., j - k, None]
        pivot = column[..., 0]
        lifted = torch.maximum(pivot, noise)
        pivot = torch.where(pivot > -noise, lifted, torch.nan)
        columns.append(column / torch.sqrt(pivot)[..., None])
    whole = (torch.nn.functional.pad(column, (K - column.shape[-1], 0)) for column in columns)
    return torch.stack(list(whole), dim=-1)


def whiten(root: Tensor | None, columns: Tensor) -> Tensor:
    """Return C⁻¹X."""
    if root is None:
        return columns
    if root.ndim < columns.ndim:
        return columns / root[..., None]
    return torch.linalg.solve_triangular(root, columns, upper=False)


def unwhiten(root: Tensor | None, columns: Tensor) -> Tensor:
    """Return C⁻ᵀX."""
    if root is None:
        return columns
    if root.ndim < columns.ndim:
        return columns / root[..., None]
    return torch.linalg.solve_triangular(root.mT, columns, upper=True)


def scale_gradient(
    kind: ScaleKind, root: Tensor, whitened: Tensor, back: Tensor, f: Derivatives, A: Tensor
) -> Tensor:
    """Return the gradient of the log-likelihood by the scale, as it was given.

    That is G = −½Σ⁻¹ − f_E e eᵀ − f_A s sᵀ − (f_ρ/2A)(s eᵀ + e sᵀ), its diagonal, or the lower
    triangle of 2GL, where CᵀG has y and r in place of s and e, and of Σ⁻¹ the diagonal is left.

    Parameters
    ----------
    kind
        What the scale is.
    root
        See `Whitening`.
    whitened, back
        The columns y and r, and s and e.
    f, A
        Derivatives of the family, and the ray statistic A.
    """
    s, e = back.unbind(-1)
    cross = 0.5 * f.rho / A
    by_s = f.A[..., None] * s + cross[..., None] * e
    by_e = f.E[..., None] * e + cross[..., None] * s
    if kind == "diagonal":
        return -0.5 / root**2 - by_s * s - by_e * e
    if kind == "covariance":
        identity = torch.eye(root.shape[-1], dtype=root.dtype, device=root.device)
        inverse = torch.linalg.solve_triangular(root, identity.expand(root.shape), upper=False)
        return -0.5 * inverse.mT @ inverse - _outer(by_s, s) - _outer(by_e, e)
    y, r = whitened.unbind(-1)
    diagonal = torch.diag_embed(1 / torch.diagonal(root, dim1=-2, dim2=-1))
    return -diagonal - 2 * torch.tril(_outer(by_s, y) + _outer(by_e, r))


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]
