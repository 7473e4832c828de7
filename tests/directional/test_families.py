"""A family is stable for every input, and its derivatives are those of its value."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dmrank.directional import Gaussian, ProjectedGaussian, ProjectedStudent, Student
from dmrank.directional.families import (
    erfc_hazard,
    log_erfc,
    student_hazard,
    student_log_survival,
)
from dmrank.support.errors import ConfigError
from tests.directional.pairs import ALONG_RAY, families

MAGNITUDES = np.concatenate([[0.0], np.logspace(-9, 6, 61)])
ARGUMENTS = np.concatenate([-MAGNITUDES[::-1], MAGNITUDES])


def test_log_erfc_agrees_with_torch() -> None:
    expected = np.log(2) + torch.special.log_ndtr(-np.sqrt(2) * torch.tensor(ARGUMENTS)).numpy()
    np.testing.assert_allclose(log_erfc(ARGUMENTS), expected, rtol=1e-13, atol=1e-15)


def test_the_printed_hazard_explodes_and_the_stable_one_grows_linearly() -> None:
    """Paper 4.4 and its figure 5(b): the explosion is cancellation in 1 − erf Z."""
    Z = torch.tensor([2.0, 5.0, 6.0, 10.0, 1000.0], dtype=torch.float64)
    naive = (torch.exp(-(Z**2)) / (1 - torch.erf(Z))).numpy() * 2 / np.sqrt(np.pi)
    stable = erfc_hazard(Z.numpy())

    assert naive[0] == pytest.approx(stable[0], rel=1e-12)
    assert abs(naive[1] / stable[1] - 1) > 1e-6, "four digits are lost already at Z = 5"
    assert not np.isfinite(naive[2:]).any()
    # g(Z) = 2Z + 1/Z + O(Z^-3)
    np.testing.assert_allclose(stable[2:], 2 * Z[2:] + 1 / Z[2:], rtol=1e-3)


def exact_student_tail(x: float, kappa: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return log-survival and hazard of Student's t with 50 digits."""
    with mpmath.workdps(50):
        x, kappa = mpmath.mpf(float(x)), mpmath.mpf(float(kappa))
        z = kappa / (kappa + x**2)
        beyond = mpmath.betainc(kappa / 2, 0.5, 0, z, regularized=True) / 2
        survival = beyond if x > 0 else 1 - beyond
        density = z ** ((kappa + 1) / 2) / mpmath.sqrt(kappa) / mpmath.beta(kappa / 2, 0.5)
        return mpmath.log(survival), density / survival


@pytest.mark.parametrize("kappa", [0.7, 1.0, 2.5, 8.0, 17.3, 113.0, 1000.0])
def test_student_tail_agrees_with_fifty_digits(kappa: float) -> None:
    x = ARGUMENTS[::3]
    exact = np.array([[float(v) for v in exact_student_tail(value, kappa)] for value in x])
    # SciPy's incomplete beta keeps eleven digits for κ = 1 near 0, more elsewhere.
    np.testing.assert_allclose(student_log_survival(x, kappa), exact[:, 0], rtol=2e-11, atol=1e-15)
    np.testing.assert_allclose(student_hazard(x, kappa), exact[:, 1], rtol=2e-11, atol=1e-300)


def test_student_with_many_degrees_of_freedom_is_gaussian() -> None:
    student, gaussian = Student(1e8, margin=0.3), Gaussian(margin=0.3)
    ray = {"E": 1.3, "A": 0.8, "rho": -0.4, "aspects": 5}
    # The two f differ by a constant of the gaussian integral: compare absolute values.
    likelihoods = [f.value(**ray) + f.constant(5) for f in (student, gaussian)]
    assert likelihoods[0] == pytest.approx(likelihoods[1], rel=1e-6)
    np.testing.assert_allclose(student.derivatives(**ray), gaussian.derivatives(**ray), rtol=1e-6)


@given(
    family=families(),
    E=st.floats(0, 20),
    A=st.floats(0.05, 30),
    rho=st.floats(-5, 5),
    aspects=st.integers(1, 14),
)
def test_derivatives_are_those_of_the_value(
    family: Gaussian | Student, E: float, A: float, rho: float, aspects: int
) -> None:
    at = np.array([E + 1e-3, A, rho])
    computed = family.derivatives(*at, aspects)
    for axis, derivative in enumerate(computed):
        step = np.zeros(3)
        step[axis] = 1e-6 * max(1, abs(at[axis]))
        up, down = family.value(*(at + step), aspects), family.value(*(at - step), aspects)
        difference = (up - down) / (2 * step[axis])
        assert derivative == pytest.approx(difference, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "family",
    [
        Gaussian,
        lambda margin: Student(3, margin),
        ProjectedGaussian,
        lambda margin: ProjectedStudent(3, margin),
    ],
)
@pytest.mark.parametrize("margin", [0, 0.2, 50])
def test_finite_for_extreme_rays(family: type[Gaussian], margin: float) -> None:
    E, A, rho = np.meshgrid([0.0, 1e-8, 1.0, 1e8], [1e-8, 1.0, 1e8], [-1e6, -1.0, 0.0, 1.0, 1e6])
    assert np.isfinite(family(margin).value(E, A, rho, 8)).all()
    assert np.isfinite(family(margin).derivatives(E, A, rho, 8)).all()


def test_a_contradicting_pair_costs_a_square_or_a_logarithm() -> None:
    rho = np.array([-1e2, -1e4])
    gaussian = Gaussian().value(0.0, 1.0, rho, 5)
    student = Student(4).value(0.0, 1.0, rho, 5)
    assert gaussian[1] / gaussian[0] == pytest.approx(1e4, rel=0.01)
    # S(x) falls like x^-κ, κ = 4 + 5 - 1.
    assert student[1] - student[0] == pytest.approx(-8 * np.log(100), rel=1e-3)


@pytest.mark.parametrize("family", ALONG_RAY, ids=str)
def test_without_margin_changes_only_the_margin(family: Gaussian | Student) -> None:
    bare = family.without_margin()
    assert bare.margin == 0
    assert bare.value(1.0, 2.0, 0.5 - family.margin, 3) == family.value(1.0, 2.0, 0.5, 3)


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf])
def test_a_bad_margin_is_refused(margin: float) -> None:
    with pytest.raises(ConfigError, match="margin="):
        Gaussian(margin)
    with pytest.raises(ConfigError, match="margin="):
        Student(4, margin)


@pytest.mark.parametrize("degrees_of_freedom", [0, -1, np.nan, np.inf])
def test_bad_degrees_of_freedom_are_refused(degrees_of_freedom: float) -> None:
    with pytest.raises(ConfigError, match="degrees_of_freedom="):
        Student(degrees_of_freedom)
