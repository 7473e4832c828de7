"""Moments along a ray are those of many digits, also where the upward recursion cancels."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dmrank.directional.moments import gaussian_moments, student_moments

FAR = (1e4, 55.0, 7.0, 1.0, 0.3, 0.03, 0.001)
PLACES = (*(-x for x in FAR), 0.0, *reversed(FAR[1:]))


def exact_student(x: float, n: int, nu: float) -> list[mpmath.mpf]:
    """Return T_0 … T_n by the upward recursion, with digits to lose."""
    x, nu = mpmath.mpf(x), mpmath.mpf(nu)
    c, kappa = 2 * nu - 2, 2 * nu - 1
    tail = mpmath.betainc(kappa / 2, 0.5, 0, 1 / (1 + x * x)) / 2
    T = [mpmath.beta(0.5, kappa / 2) - tail if x > 0 else tail]
    T.append(x * T[0] + (1 + x * x) ** (1 - nu) / c)
    for k in range(1, n):
        T.append(((c - 2 * k) * x * T[k] + k * (1 + x * x) * T[k - 1]) / (c - k))
    return T


@pytest.mark.parametrize("eta", [0.7, 4.0, 300.0])
@pytest.mark.parametrize("n", [1, 4, 13])
def test_moments_of_student_have_ten_digits(eta: float, n: int) -> None:
    nu = (eta + n + 1) / 2
    at, same = np.array(PLACES), np.ones(len(PLACES))
    found = student_moments(at, 0 * same, n * same, nu * same)
    with mpmath.workdps(300):
        each = [exact_student(x, n, nu) for x in PLACES]
        slopes = np.array([float(n * T[n - 1] / T[n]) for T in each])
        logs = np.array([float(mpmath.log(T[n])) for T in each])
    np.testing.assert_allclose(found.slope, slopes, rtol=1e-10)
    np.testing.assert_allclose(found.log_integral, logs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [1, 4, 13])
def test_moments_of_the_normal_have_ten_digits(n: int) -> None:
    places = PLACES[1:]  # parabolic cylinder functions take long farther out
    at, same = np.array(places), np.ones(len(places))
    found = gaussian_moments(at, 0 * same, n * same)
    with mpmath.workdps(40):
        slopes = [
            float(mpmath.pcfd(-n, -mpmath.mpf(x)) / mpmath.pcfd(-n - 1, -mpmath.mpf(x)))
            for x in places
        ]
    np.testing.assert_allclose(found.slope, slopes, rtol=1e-10)
