"""The directional criterion, written to be read: NumPy, float64, no tricks for speed.

It is the mathematics line by line and the truth that the fast kernels are tested against. With
the observed difference d and the predicted μ and Σ, s = Σ⁻¹d, t = Σ⁻¹μ and

    A = d·s ,  ρ = d·t / A ,  e = t − ρs ,  E = (μ − ρd)·e

the log-likelihood of the direction of d is −½ ln|Σ| + f(E, A, ρ) + constant, f that of a family.
Every function takes one pair or broadcasts over leading batch dimensions: vectors have shape
(..., K), matrices (..., K, K).

A pair keeps an aspect if ``kept`` is true there (by default every aspect). A dropped aspect is
marginalised by padding: 1 on its diagonal of Σ, 0 in the rest of its row and column, 0 in d and μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.directional.covariance import log_determinant
from dmrank.support.arrays import Array, Bools, Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dmrank.directional.families import Family


class RayStatistics(NamedTuple):
    """All that the criterion needs to know of a pair.

    Attributes
    ----------
    A
        d·s: how long the observed direction is, seen by Σ; 0 if there is no direction.
    rho
        ρ = (d·t)/A with t = Σ⁻¹μ: how far along the ray the predicted mean lies.
    E
        (μ − ρd)·e ≥ 0: what of the predicted mean is off the ray.
    s
        Σ⁻¹d.
    e
        t − ρs.
    log_determinant
        ln|Σ|.
    """

    A: Floats
    rho: Floats
    E: Floats
    s: Floats
    e: Floats
    log_determinant: Floats


class Gradients(NamedTuple):
    """The gradient of a log-likelihood: ∂/∂μ and the symmetric G = ∂/∂Σ."""

    mean: Floats
    covariance: Floats


def ray_statistics(
    difference: ArrayLike,
    mean: ArrayLike,
    covariance: ArrayLike,
    kept: ArrayLike | None = None,
) -> RayStatistics:
    """Reduce a pair to its ray statistics.

    Parameters
    ----------
    difference
        The observed difference d; may be NaN where the aspect is dropped.
    mean
        The predicted mean μ of the difference.
    covariance
        The predicted covariance Σ of the difference, positive definite.
    kept
        True where the pair keeps the aspect; by default everywhere.

    Returns
    -------
    RayStatistics
        Without a direction (d = 0 on the kept aspects) A, ρ and s are 0.

    Examples
    --------
    >>> ray = ray_statistics([2.0, -1.0], [4.0, 3.0], [[1.0, 0.0], [0.0, 1.0]])
    >>> print(ray.A, ray.rho, ray.E)
    5.0 1.0 20.0
    """
    return _ray_statistics(_Pair.from_arrays(difference, mean, covariance, kept))


def log_likelihood(
    difference: ArrayLike,
    mean: ArrayLike,
    covariance: ArrayLike,
    family: Family,
    kept: ArrayLike | None = None,
) -> Floats:
    """Return the log-likelihood of the observed direction, all constants included.

    It is ln ∫_ξ^∞ p(γd) dγ, with p the density of the family with mean μ and matrix Σ (paper
    3.1.2), and 0 for a pair without a direction.

    Parameters
    ----------
    difference, mean, covariance, kept
        As for `ray_statistics`.
    family
        `Gaussian` or `Student`, with its margin ξ.

    Examples
    --------
    >>> from dmrank.directional import Gaussian
    >>> d, mu, Sigma = [2.0, -1.0], [4.0, 3.0], [[1.0, 0.0], [0.0, 1.0]]
    >>> print(log_likelihood(d, mu, Sigma, Gaussian(margin=0.2)).round(4))
    -11.7612
    """
    pair = _Pair.from_arrays(difference, mean, covariance, kept)
    ray = _ray_statistics(pair)
    K = pair.aspects
    A = np.where(ray.A > 0, ray.A, 1.0)
    value = -ray.log_determinant / 2 + family.value(ray.E, A, ray.rho, K) + family.constant(K)
    return np.where(ray.A > 0, value, 0.0)


def gradients(
    difference: ArrayLike,
    mean: ArrayLike,
    covariance: ArrayLike,
    family: Family,
    kept: ArrayLike | None = None,
) -> Gradients:
    """Return the gradients of `log_likelihood` by μ and by Σ.

    ∂/∂μ = 2 f_E e + (f_ρ/A) s and
    G = ∂/∂Σ = −½Σ⁻¹ − f_E e eᵀ − f_A s sᵀ − (f_ρ/2A)(s eᵀ + e sᵀ), whatever the family. They are
    0 for dropped aspects and for a pair without a direction.

    Parameters
    ----------
    difference, mean, covariance, family, kept
        As for `log_likelihood`.

    Examples
    --------
    >>> from dmrank.directional import Gaussian
    >>> d, mu, Sigma = [2.0, -1.0], [4.0, 3.0], [[1.0, 0.0], [0.0, 1.0]]
    >>> print(gradients(d, mu, Sigma, Gaussian(margin=0.2)).mean.round(4))
    [-1.9252 -4.0374]
    """
    pair = _Pair.from_arrays(difference, mean, covariance, kept)
    ray = _ray_statistics(pair)
    A = np.where(ray.A > 0, ray.A, 1.0)
    f = family.derivatives(ray.E, A, ray.rho, pair.aspects)
    f_E, f_A, f_rho = (derivative[..., None] for derivative in f)
    s, e, A = ray.s, ray.e, A[..., None]

    by_mean = 2 * f_E * e + f_rho / A * s
    cross = _outer(f_rho / (2 * A) * s, e)
    by_covariance = (
        -np.linalg.inv(pair.covariance) / 2
        - _outer(f_E * e, e)
        - _outer(f_A * s, s)
        - (cross + np.swapaxes(cross, -1, -2))
    )
    counts = pair.kept & (ray.A > 0)[..., None]
    return Gradients(
        mean=np.where(counts, by_mean, 0.0),
        covariance=np.where(_outer(counts, counts), by_covariance, 0.0),
    )


def confidence(
    mean: ArrayLike,
    covariance: ArrayLike,
    family: Family,
    kept: ArrayLike | None = None,
) -> Floats:
    """Return how much density lies along the predicted direction itself (paper 4.3).

    It is ∫_0^∞ p(γ μ/‖μ‖) dγ, all constants included: the line integral of the density from 0
    along the predicted direction, whatever the margin of the family. A mean of 0 has no direction
    and confidence 0.

    Parameters
    ----------
    mean, covariance, kept
        As for `ray_statistics`.
    family
        `Gaussian` or `Student`.

    Examples
    --------
    >>> from dmrank.directional import Gaussian
    >>> identity = [[1.0, 0.0], [0.0, 1.0]]
    >>> print(confidence([[3.0, 4.0], [0.0, 0.0]], identity, Gaussian()).round(4))
    [0.3989 0.    ]
    """
    mean = np.asarray(mean, dtype=np.float64)
    known = mean if kept is None else np.where(kept, mean, 0.0)
    norm = np.linalg.norm(known, axis=-1, keepdims=True)
    direction = np.divide(known, norm, out=np.zeros_like(known), where=norm > 0)
    log_integral = log_likelihood(direction, mean, covariance, family.without_margin(), kept)
    return np.where(norm[..., 0] > 0, np.exp(log_integral), 0.0)


@dataclass(frozen=True)
class _Pair:
    """A pair with its dropped aspects padded, and the number K of those it keeps."""

    difference: Floats
    mean: Floats
    covariance: Floats
    kept: Bools

    @classmethod
    def from_arrays(
        cls, difference: ArrayLike, mean: ArrayLike, covariance: ArrayLike, kept: ArrayLike | None
    ) -> _Pair:
        d = np.asarray(difference, dtype=np.float64)
        mu = np.asarray(mean, dtype=np.float64)
        Sigma = np.asarray(covariance, dtype=np.float64)
        mask = np.asarray(True if kept is None else kept, dtype=np.bool_)
        d, mu, mask, _ = np.broadcast_arrays(d, mu, mask, Sigma[..., 0])
        return cls(
            difference=np.where(mask, d, 0.0),
            mean=np.where(mask, mu, 0.0),
            covariance=np.where(_outer(mask, mask), Sigma, np.eye(d.shape[-1])),
            kept=mask,
        )

    @property
    def aspects(self) -> Floats:
        # At least 1 keeps κ = η + K − 1 positive where nothing is kept, and A = 0 anyway.
        return np.asarray(np.maximum(self.kept.sum(axis=-1), 1), dtype=np.float64)


def _ray_statistics(pair: _Pair) -> RayStatistics:
    d, mu, Sigma = pair.difference, pair.mean, pair.covariance
    solved = np.linalg.solve(Sigma, np.stack([d, mu], axis=-1))
    s, t = np.moveaxis(np.asarray(solved, dtype=np.float64), -1, 0)
    A = np.maximum(_dot(d, s), 0.0)
    rho = np.divide(_dot(d, t), A, out=np.zeros_like(A), where=A > 0)
    e = t - rho[..., None] * s
    E = np.maximum(_dot(mu - rho[..., None] * d, e), 0.0)
    return RayStatistics(A, rho, E, s, e, log_determinant(Sigma))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=-1))


def _outer(a: Array, b: Array) -> Array:
    return np.asarray(a[..., :, None] * b[..., None, :])
