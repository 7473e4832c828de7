"""What concerns a covariance matrix alone: its prior, and the chain to its Cholesky factor.

Part of the readable reference: NumPy, float64, matrices of shape (..., K, K).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def inverse_wishart_log_prior(
    covariance: ArrayLike, scale: ArrayLike, degrees_of_freedom: float
) -> Floats:
    """Return the log-density of Σ under an inverse-Wishart prior, all constants included.

    ln p = (ν/2) ln|Ψ| − (νK/2) ln 2 − ln Γ_K(ν/2) − ((ν+K+1)/2) ln|Σ| − ½ tr(ΨΣ⁻¹), where the
    paper (3.2.2) prints +½ tr.

    Parameters
    ----------
    covariance
        Σ, positive definite.
    scale
        Ψ, positive definite. The mode of the prior is Ψ/(ν+K+1).
    degrees_of_freedom
        ν > K − 1.

    Examples
    --------
    >>> print(inverse_wishart_log_prior([[2.0]], scale=[[3.0]], degrees_of_freedom=4.0).round(4))
    -2.0185
    """
    Sigma, Psi = _matrices(covariance, scale)
    nu, K = degrees_of_freedom, Sigma.shape[-1]
    if not nu > K - 1:
        raise ConfigError(
            f"degrees_of_freedom={nu!r}: a density on {K} aspects needs above {K - 1}"
        )
    log_norm = (
        nu / 2 * log_determinant(Psi) - nu * K / 2 * np.log(2) - special.multigammaln(nu / 2, K)
    )
    trace = np.trace(np.linalg.solve(Sigma, Psi), axis1=-2, axis2=-1)
    return np.asarray(log_norm - (nu + K + 1) / 2 * log_determinant(Sigma) - trace / 2)


def inverse_wishart_gradient(
    covariance: ArrayLike, scale: ArrayLike, degrees_of_freedom: float
) -> Floats:
    """Return the symmetric gradient ½ Σ⁻¹ΨΣ⁻¹ − ((ν+K+1)/2) Σ⁻¹ of the inverse-Wishart log-prior.

    Parameters
    ----------
    covariance, scale, degrees_of_freedom
        As for `inverse_wishart_log_prior`; here any ν > −(K+1) has a mode.

    Examples
    --------
    At the mode Ψ/(ν+K+1) it is 0:

    >>> print(inverse_wishart_gradient([[0.5]], scale=[[3.0]], degrees_of_freedom=4.0))
    [[0.]]
    """
    Sigma, Psi = _matrices(covariance, scale)
    K = Sigma.shape[-1]
    inverse = np.linalg.inv(Sigma)
    return np.asarray((inverse @ Psi @ inverse - (degrees_of_freedom + K + 1) * inverse) / 2)


def cholesky_gradient(covariance_gradient: ArrayLike, factor: ArrayLike) -> Floats:
    """Carry G = ∂/∂Σ over to a lower-triangular L with Σ = LLᵀ: the lower triangle of 2GL.

    Parameters
    ----------
    covariance_gradient
        G, symmetric.
    factor
        L, lower-triangular.

    Examples
    --------
    >>> G = [[1.0, 0.5], [0.5, 2.0]]
    >>> print(cholesky_gradient(G, [[1.0, 0.0], [1.0, 3.0]]))
    [[ 3.  0.]
     [ 5. 12.]]
    """
    G, L = _matrices(covariance_gradient, factor)
    return np.tril(2 * G @ L)


def log_determinant(matrix: Floats) -> Floats:
    """Return ln|Σ| by Cholesky, which refuses a matrix that is not positive definite.

    Examples
    --------
    >>> print(log_determinant(np.diag([1.0, np.e])))
    1.0
    """
    diagonal = np.diagonal(np.linalg.cholesky(matrix), axis1=-2, axis2=-1)
    return np.asarray(2 * np.log(diagonal).sum(axis=-1))


def _matrices(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
