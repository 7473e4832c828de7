"""The elliptical families of the directional criterion: one function of three numbers each.

The criterion sees a pair only through its ray statistics A, ρ and E (see `reference`), and the
log-likelihood of the observed direction is −½ ln|Σ| + f(E, A, ρ) + constant. A family is that
function f, its derivatives and its constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError

# Below it the survival function comes from a series, long before it underflows near 1e-308.
_SMALLEST_SURVIVAL = 1e-200
# In that tail x² > 900, so that these many terms leave a relative error below 1e-18.
_TAIL_TERMS = 10


class Derivatives(NamedTuple):
    """The partial derivatives f_E, f_A and f_ρ of a family."""

    E: Floats
    A: Floats
    rho: Floats


class Family(Protocol):
    """What the criterion asks of a family; every argument broadcasts.

    ``aspects`` is K, the number of aspects that the pair keeps.
    """

    @property
    def margin(self) -> float:
        """The lower limit ξ of the integral along the ray."""

    def __hash__(self) -> int:
        """Return the same for equal families: what is made of one is kept."""

    def value(self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike) -> Floats:
        """Return f(E, A, ρ)."""

    def derivatives(
        self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike
    ) -> Derivatives:
        """Return f_E, f_A and f_ρ."""

    def constant(self, aspects: ArrayLike) -> Floats:
        """Return what turns −½ ln|Σ| + f into the logarithm of the integral of the density."""

    def without_margin(self) -> Family:
        """Return the same family with ξ = 0."""


@dataclass(frozen=True)
class Gaussian:
    """The multivariate normal distribution: the family of the paper (Eq. 5).

    Parameters
    ----------
    margin
        Lower limit ξ ≥ 0 of the integral along the ray.

    Examples
    --------
    >>> family = Gaussian(margin=0.2)
    >>> f = family.value(E=0.5, A=2.0, rho=1.0, aspects=3)
    >>> print(f.round(4))
    -0.3881
    """

    margin: float = 0.0

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    def value(self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike) -> Floats:
        """Return f = −½E − ½ ln(2A) + ln erfc(Z) with Z = √(A/2)(ξ − ρ)."""
        E, A, rho, _ = as_floats(E, A, rho, aspects)
        Z = np.sqrt(A / 2) * (self.margin - rho)
        return np.asarray(-E / 2 - np.log(2 * A) / 2 + log_erfc(Z))

    def derivatives(
        self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike
    ) -> Derivatives:
        """Return f_E = −½, f_A = −1/(2A) − g(ξ − ρ)/(2q), f_ρ = g q/2 with q = √(2A)."""
        E, A, rho, _ = as_floats(E, A, rho, aspects)
        q = np.sqrt(2 * A)
        g = erfc_hazard(q / 2 * (self.margin - rho))
        f_A = -1 / (2 * A) - g * (self.margin - rho) / (2 * q)
        return Derivatives(E=np.full_like(E, -0.5), A=f_A, rho=g * q / 2)

    def constant(self, aspects: ArrayLike) -> Floats:
        """Return ½ ln π − (K/2) ln 2π."""
        K = np.asarray(aspects, dtype=np.float64)
        return np.asarray((math.log(math.pi) - K * math.log(2 * math.pi)) / 2)

    def without_margin(self) -> Gaussian:
        """Return the same family with ξ = 0."""
        return replace(self, margin=0.0)


@dataclass(frozen=True)
class Student:
    """The multivariate t distribution: a pair that contradicts the model costs a logarithm.

    Σ is its scale matrix; its covariance is Σ η/(η − 2).

    Parameters
    ----------
    degrees_of_freedom
        η > 0; the gaussian family is the limit of large η.
    margin
        Lower limit ξ ≥ 0 of the integral along the ray.

    Examples
    --------
    >>> family = Student(degrees_of_freedom=4, margin=0.2)
    >>> f = family.value(E=0.5, A=2.0, rho=1.0, aspects=3)
    >>> print(f.round(4))
    -0.1342
    """

    degrees_of_freedom: float
    margin: float = 0.0

    def __post_init__(self) -> None:
        _check_margin(self.margin)
        if not (math.isfinite(self.degrees_of_freedom) and self.degrees_of_freedom > 0):
            raise ConfigError(
                f"degrees_of_freedom={self.degrees_of_freedom!r}: give a number above 0"
            )

    def value(self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike) -> Floats:
        """Return f = −((η+K)/2) ln(1+E/η) + ½ ln((η+E)/A) + ln(1 − T_κ(x)).

        With κ = η + K − 1 and x = (ξ − ρ)√(A κ/(η+E)).
        """
        E, A, rho, K = as_floats(E, A, rho, aspects)
        eta = self.degrees_of_freedom
        kappa = eta + K - 1
        x = (self.margin - rho) * np.sqrt(A * kappa / (eta + E))
        off_ray = -(eta + K) / 2 * np.log1p(E / eta)
        return np.asarray(off_ray + np.log((eta + E) / A) / 2 + student_log_survival(x, kappa))

    def derivatives(
        self, E: ArrayLike, A: ArrayLike, rho: ArrayLike, aspects: ArrayLike
    ) -> Derivatives:
        """Return f_E = (hx − κ)/(2(η+E)), f_A = −(1 + hx)/(2A), f_ρ = h√(A κ/(η+E))."""
        E, A, rho, K = as_floats(E, A, rho, aspects)
        eta = self.degrees_of_freedom
        kappa = eta + K - 1
        stretch = np.sqrt(A * kappa / (eta + E))
        x = (self.margin - rho) * stretch
        h = student_hazard(x, kappa)
        return Derivatives(
            E=(h * x - kappa) / (2 * (eta + E)), A=-(1 + h * x) / (2 * A), rho=h * stretch
        )

    def constant(self, aspects: ArrayLike) -> Floats:
        """Return ln Γ((η+K−1)/2) − ln Γ(η/2) − (K/2) ln(ηπ) + ½ ln π."""
        K = np.asarray(aspects, dtype=np.float64)
        eta = self.degrees_of_freedom
        gammas = special.gammaln((eta + K - 1) / 2) - special.gammaln(eta / 2)
        return np.asarray(gammas + (math.log(math.pi) - K * math.log(eta * math.pi)) / 2)

    def without_margin(self) -> Student:
        """Return the same family with ξ = 0."""
        return replace(self, margin=0.0)


def log_erfc(Z: ArrayLike) -> Floats:
    """Return ln erfc(Z), as ln erfcx(Z) − Z² where erfc would underflow.

    Examples
    --------
    >>> log_erfc([-50.0, 0.0, 50.0]).round(1).tolist()
    [0.7, 0.0, -2504.5]
    """
    Z = np.asarray(Z, dtype=np.float64)
    right = np.maximum(Z, 0.0)
    left = np.minimum(Z, 0.0)
    return np.asarray(np.log(special.erfcx(right)) - right**2 + np.log(special.erfc(left)))


def erfc_hazard(Z: ArrayLike) -> Floats:
    """Return g(Z) = (2/√π) e^{−Z²}/erfc(Z) = (2/√π)/erfcx(Z), which grows like 2Z.

    Examples
    --------
    >>> erfc_hazard([-50.0, 0.0, 50.0]).round(2).tolist()
    [0.0, 1.13, 100.02]
    """
    Z = np.asarray(Z, dtype=np.float64)
    return np.asarray(2 / math.sqrt(math.pi) / special.erfcx(Z))


def student_log_survival(x: ArrayLike, kappa: ArrayLike) -> Floats:
    """Return ln(1 − T_κ(x)), the log-survival function of Student's t.

    Examples
    --------
    >>> student_log_survival([0.0, 1e6], kappa=200.0).round(1).tolist()
    [-0.7, -2236.8]
    """
    x, kappa = as_floats(x, kappa)
    log_density = _student_log_density(x, kappa)
    mills = _student_mills(np.abs(x), kappa)
    beyond = np.exp(log_density) * mills
    return np.where(x > 0, log_density + np.log(mills), np.log1p(-beyond))


def student_hazard(x: ArrayLike, kappa: ArrayLike) -> Floats:
    """Return h(x) = density/survival of Student's t, which falls like κ/x for large x.

    Examples
    --------
    >>> student_hazard([-1e6, 0.0, 1e6], kappa=200.0).round(4).tolist()
    [0.0, 0.7969, 0.0002]
    """
    x, kappa = as_floats(x, kappa)
    density = np.exp(_student_log_density(x, kappa))
    mills = _student_mills(np.abs(x), kappa)
    return np.where(x > 0, 1 / mills, density / (1 - density * mills))


def _student_log_density(x: Floats, kappa: Floats) -> Floats:
    log_norm = -special.betaln(kappa / 2, 0.5) - np.log(kappa) / 2
    return np.asarray(log_norm - (kappa + 1) / 2 * np.log1p(x**2 / kappa))


def _student_mills(x: Floats, kappa: Floats) -> Floats:
    """Return survival/density of Student's t at x ≥ 0."""
    survival = _student_survival(x, kappa)
    near = survival > _SMALLEST_SURVIVAL
    near_density = np.exp(_student_log_density(np.where(near, x, 0.0), kappa))
    # The argument 1 only keeps the unused branch finite.
    far_mills = _student_mills_far(np.where(near, 1.0, x), kappa)
    return np.where(near, survival / near_density, far_mills)


def _student_survival(x: Floats, kappa: Floats) -> Floats:
    """Return 1 − T_κ(x) at x ≥ 0, from the incomplete beta function of the smaller argument."""
    square = x**2
    total = kappa + square
    upper = special.betainc(kappa / 2, 0.5, kappa / total)
    lower = special.betaincc(0.5, kappa / 2, square / total)
    return np.asarray(np.where(square > kappa, upper, lower) / 2)


def _student_mills_far(x: Floats, kappa: Floats) -> Floats:
    """Return survival/density = (κ + x²)/(κx) ₂F₁(½, 1; κ/2 + 1; −κ/x²) by its power series."""
    term = np.ones_like(x)
    series = np.ones_like(x)
    for n in range(_TAIL_TERMS):
        term = -term * (n + 0.5) / (kappa / 2 + 1 + n) * kappa / x**2
        series = series + term
    return np.asarray((kappa + x**2) / (kappa * x) * series)


def as_floats(*values: ArrayLike) -> tuple[Floats, ...]:
    """Return arguments as arrays of one shape."""
    return np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))


def _check_margin(margin: float) -> None:
    if not (math.isfinite(margin) and margin >= 0):
        raise ConfigError(f"margin={margin!r}: give a number that is not negative, such as 0.2")
