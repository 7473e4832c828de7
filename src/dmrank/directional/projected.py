"""The density of a direction: the families with the factor γ^{K−1} of polar coordinates.

The criterion of the paper integrates the density along a ray (Eq. 5). How likely a *direction* is,
among all directions, is the integral over the cone that it stands for, which is wider far from 0:

    ∫_ξ^∞ γ^{K−1} p(γd) dγ

With ξ = 0 and ‖d‖ = 1 that is the density of the projected normal (or projected t) distribution,
which integrates to 1 over the sphere and does not change if μ and Σ shrink together. The integral
along the ray does change: by −(K−1) ln c for (cμ, c²Σ), so that it rewards shrinking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dmrank.directional.families import Derivatives, Family, Gaussian, Student, as_floats
from dmrank.directional.moments import Moments, gaussian_moments, student_moments
from dmrank.support.arrays import Floats

FamilyName: TypeAlias = Literal["gaussian", "student"]
#: Of an observed direction: along its ray (paper Eq. 5), or among all directions.
Density: TypeAlias = Literal["ray", "direction"]


@dataclass(frozen=True)
class ProjectedGaussian(Gaussian):
    """The direction of a normal vector, where its length is at least ξ‖d‖.

    Parameters
    ----------
    margin
        Lower limit ξ ≥ 0 of the integral.

    Examples
    --------
    Shrinking μ and Σ together changes nothing:

    >>> from dmrank.directional import log_likelihood
    >>> mean, covariance = np.array([1.0, 2.0]), np.eye(2)
    >>> for c in (1, 0.1):
    ...     d = log_likelihood([0.6, 0.8], c * mean, c**2 * covariance, ProjectedGaussian())
    ...     print(d.round(4))
    -0.2083
    -0.2083
    """

    def value(self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike) -> Floats:
        """Return f = −½E + K ln β + ln J_{K−1}."""
        E, A, rho, K = as_floats(E, A, rho, aspects)
        moments, stretch = self.moments(E, A, rho, K)
        return np.asarray(-E / 2 - K * np.log(stretch) + moments.log_integral)

    def derivatives(
        self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike
    ) -> Derivatives:
        """Return f_E = −½, f_A = −(K − D)/(2A), f_ρ = J_m/(Jβ), with D = mJ_m/J + aJ_a/J."""
        E, A, rho, K = as_floats(E, A, rho, aspects)
        moments, stretch = self.moments(E, A, rho, K)
        D = stretch * (rho * moments.slope - self.margin * moments.edge)
        return Derivatives(np.full_like(E, -0.5), (D - K) / (2 * A), stretch * moments.slope)

    def constant(self, aspects: ArrayLike) -> Floats:
        """Return −(K/2) ln 2π."""
        return np.asarray(-np.asarray(aspects, dtype=np.float64) / 2 * math.log(2 * math.pi))

    def moments(self, E: Floats, A: Floats, rho: Floats, K: Floats) -> tuple[Moments, Floats]:
        """Return the moments of order K − 1 along the ray, and 1/β = √A."""
        del E
        stretch = np.sqrt(A)
        x, a = (rho - self.margin) * stretch, self.margin * stretch
        return gaussian_moments(x, a, K - 1), stretch


@dataclass(frozen=True)
class ProjectedStudent(Student):
    """The direction of a vector with a t distribution, where its length is at least ξ‖d‖.

    Parameters
    ----------
    degrees_of_freedom
        η > 0.
    margin
        Lower limit ξ ≥ 0 of the integral.

    Examples
    --------
    Around 0, the length of a vector says nothing about its direction, whatever the family:

    >>> from dmrank.directional import log_likelihood
    >>> for family in (ProjectedStudent(degrees_of_freedom=4), ProjectedGaussian()):
    ...     print(log_likelihood([0.6, 0.8], [0.0, 0.0], np.eye(2), family).round(4))  # −ln 2π
    -1.8379
    -1.8379
    """

    def value(self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike) -> Floats:
        """Return f = −((η+K)/2) ln(1+E/η) + K ln β + ln J_{K−1}."""
        E, A, rho, K = as_floats(E, A, rho, aspects)
        moments, stretch = self.moments(E, A, rho, K)
        off_ray = -(self.degrees_of_freedom + K) / 2 * np.log1p(E / self.degrees_of_freedom)
        return np.asarray(off_ray - K * np.log(stretch) + moments.log_integral)

    def derivatives(
        self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike
    ) -> Derivatives:
        """Return f_E = −(η + D)/(2(η+E)); f_A, f_ρ and D are those of `ProjectedGaussian`."""
        E, A, rho, K = as_floats(E, A, rho, aspects)
        moments, stretch = self.moments(E, A, rho, K)
        D = stretch * (rho * moments.slope - self.margin * moments.edge)
        f_E = -(self.degrees_of_freedom + D) / (2 * (self.degrees_of_freedom + E))
        return Derivatives(f_E, (D - K) / (2 * A), stretch * moments.slope)

    def constant(self, aspects: ArrayLike) -> Floats:
        """Return ln Γ((η+K)/2) − ln Γ(η/2) − (K/2) ln(ηπ)."""
        K, eta = np.asarray(aspects, dtype=np.float64), self.degrees_of_freedom
        gammas = special.gammaln((eta + K) / 2) - special.gammaln(eta / 2)
        return np.asarray(gammas - K / 2 * math.log(eta * math.pi))

    def moments(self, E: Floats, A: Floats, rho: Floats, K: Floats) -> tuple[Moments, Floats]:
        """Return the moments of order K − 1 along the ray, and 1/β = √(A/(η+E))."""
        eta = self.degrees_of_freedom
        stretch = np.sqrt(A / (eta + E))
        x, a = (rho - self.margin) * stretch, self.margin * stretch
        return student_moments(x, a, K - 1, (eta + K) / 2), stretch


def make_family(
    name: FamilyName, density: Density, margin: float, degrees_of_freedom: float
) -> Family:
    """Return a family by its parameters, of which the gaussian has no degrees of freedom.

    Examples
    --------
    >>> make_family("student", "direction", 0.2, 5.0)
    ProjectedStudent(degrees_of_freedom=5.0, margin=0.2)
    """
    if name == "gaussian":
        return Gaussian(margin) if density == "ray" else ProjectedGaussian(margin)
    kind = Student if density == "ray" else ProjectedStudent
    return kind(degrees_of_freedom, margin)
