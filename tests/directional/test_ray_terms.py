"""The families' f for a search is that of the families."""

import numpy as np
import pytest

from dmrank.directional import Gaussian, ProjectedGaussian, ProjectedStudent, Student
from dmrank.directional.ray_terms import ray_terms

FAMILIES = (Gaussian(margin=0.2), Student(degrees_of_freedom=5.0, margin=0.2))


@pytest.mark.parametrize(
    "family", [*FAMILIES, ProjectedGaussian(0.2), ProjectedStudent(5.0, 0.2)], ids=str
)
def test_the_short_formulas_are_those_of_the_families(family) -> None:
    rng = np.random.default_rng(0)
    E, A, rho, K = 5 * rng.random(200), 0.1 + 9 * rng.random(200), rng.normal(size=200) * 3, 4
    aspects = np.full(200, K)
    found, exact = ray_terms(family, E, A, rho, aspects), family.derivatives(E, A, rho, aspects)
    np.testing.assert_allclose(found.E, exact.E, rtol=1e-9)
    np.testing.assert_allclose(found.rho, exact.rho, rtol=1e-9)
    step = 1e-5
    ahead, behind = (family.derivatives(E, A, rho + s, aspects).rho for s in (step, -step))
    np.testing.assert_allclose(found.rho_rho, (ahead - behind) / (2 * step), atol=1e-5)
    values = family.value(E, A, rho, aspects) - found.value
    along_ray = family in FAMILIES  # what does not depend on E and ρ may be left out
    np.testing.assert_allclose(np.diff(values + along_ray * np.log(A) / 2), 0, atol=1e-9)
