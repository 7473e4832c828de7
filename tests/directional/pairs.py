"""Random pairs, and the line integral of a density along their ray by numerical quadrature."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import integrate, stats

from dmrank.directional import Gaussian, ProjectedGaussian, ProjectedStudent, Student

if TYPE_CHECKING:
    from collections.abc import Callable

ALONG_RAY = (
    Gaussian(), Gaussian(0.2), Gaussian(2.0), Student(4), Student(1.5, 0.2), Student(30, 2),
)  # fmt: skip
FAMILIES = (
    *ALONG_RAY,
    ProjectedGaussian(), ProjectedGaussian(0.2), ProjectedStudent(4), ProjectedStudent(3, 2),
)  # fmt: skip


class Pair(NamedTuple):
    difference: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


def random_pair(aspects: int, seed: int, batch: tuple[int, ...] = ()) -> Pair:
    """Draw differences like those of ratings 1-5, and a positive definite covariance."""
    rng = np.random.default_rng([aspects, seed])
    d = rng.integers(-4, 5, (*batch, aspects)).astype(float)
    d[..., 0] = np.where(d[..., 0] == 0, 1.0, d[..., 0])
    root = rng.normal(size=(*batch, aspects, aspects + 2))
    covariance = root @ np.swapaxes(root, -1, -2) / aspects + 0.3 * np.eye(aspects)
    return Pair(d, rng.normal(size=(*batch, aspects)), covariance)


def power(family: Gaussian | Student, aspects: int) -> int:
    """Return n of the factor γⁿ: K − 1 for the density of a direction."""
    return aspects - 1 if isinstance(family, ProjectedGaussian | ProjectedStudent) else 0


def line_integral(
    log_density: Callable[[np.ndarray], float], direction: np.ndarray, start: float, power: int
) -> float:
    """Integrate γⁿ times a density over γ·direction, γ from start, by adaptive quadrature."""
    # Short pieces near the start, where the peak is, so that none is missed.
    edges = [start, start + 0.5, start + 1, start + 2, start + 5, start + 20, np.inf]
    pieces = [
        integrate.quad(
            lambda gamma: gamma**power * np.exp(log_density(gamma * direction)), *limits, epsabs=0
        )[0]
        for limits in pairwise(edges)
    ]
    return float(sum(pieces))


def log_density(family: Gaussian | Student, pair: Pair) -> Callable[[np.ndarray], float]:
    if isinstance(family, Gaussian):
        return stats.multivariate_normal(pair.mean, pair.covariance).logpdf
    return stats.multivariate_t(pair.mean, pair.covariance, family.degrees_of_freedom).logpdf


def families() -> st.SearchStrategy[Gaussian | Student]:
    margin = st.floats(0, 3)
    eta = st.floats(0.5, 50)
    gaussian = st.builds(Gaussian, margin) | st.builds(ProjectedGaussian, margin)
    return gaussian | st.builds(Student, eta, margin) | st.builds(ProjectedStudent, eta, margin)


def pairs(max_aspects: int = 8) -> st.SearchStrategy[Pair]:
    return st.builds(random_pair, st.integers(1, max_aspects), st.integers(0, 10_000))
