"""Survival functions, hazards and their derivatives by κ, against many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the loss is for PyTorch, the extra neural")

from dmrank.directional.families import student_hazard as exact_hazard  # noqa: E402
from dmrank.directional.families import student_log_survival as exact_log_survival  # noqa: E402
from dmrank.torch.survival import (  # noqa: E402
    normal_hazard,
    normal_log_survival,
    student_hazard,
    student_log_survival,
    student_log_survival_by_kappa,
)

X, KAPPA = np.meshgrid(
    [-30.0, -3.0, -0.1, -1e-8, 0.0, 1e-6, 0.02, 0.5, 1.0, 4.0, 50.0, 1e4, 1e8],
    [0.3, 1.0, 1.7, 5.0, 11.2, 80.0, 1e3],
)
RESOLUTION = {torch.float32: 1e-5, torch.float64: 1e-11}


@pytest.mark.parametrize("dtype", RESOLUTION)
def test_students_survival_function_and_hazard_are_exact(dtype) -> None:
    x, kappa = (torch.tensor(array, dtype=dtype) for array in (X, KAPPA))
    # The reference itself is good to 4e-12 beside x = 0.
    near = {"rtol": RESOLUTION[dtype], "atol": 1e-14}
    exact = exact_log_survival(x.numpy(), kappa.numpy())
    np.testing.assert_allclose(student_log_survival(x, kappa), exact, **near)
    exact = exact_hazard(x.numpy(), kappa.numpy())
    np.testing.assert_allclose(student_hazard(x, kappa), exact, **near)


def test_the_derivative_by_kappa_is_exact_to_1e_8() -> None:
    def log_survival(x, kappa):
        tail = mpmath.betainc(kappa / 2, 0.5, 0, kappa / (kappa + x * x), regularized=True) / 2
        return mpmath.log(tail if x >= 0 else 1 - tail)

    with mpmath.workdps(40):
        exact = [
            float(mpmath.diff(lambda k, x=x: log_survival(mpmath.mpf(x), k), kappa))
            for x, kappa in zip(X.flat, KAPPA.flat, strict=True)
        ]
    ours = student_log_survival_by_kappa(torch.tensor(X.ravel()), torch.tensor(KAPPA.ravel()))
    np.testing.assert_allclose(ours, exact, rtol=1e-8, atol=1e-11)


def test_the_normal_is_the_limit_of_many_degrees_of_freedom() -> None:
    x = torch.linspace(-8, 30, 50, dtype=torch.float64)
    kappa = torch.full_like(x, 1e9)
    assert torch.allclose(student_log_survival(x, kappa), normal_log_survival(x), rtol=1e-3)
    assert torch.allclose(student_hazard(x, kappa), normal_hazard(x), rtol=1e-5)


@pytest.mark.parametrize("function", [student_log_survival, student_hazard])
def test_they_can_be_differentiated_twice(function) -> None:
    x = torch.tensor([-40.0, -1.0, 0.0, 0.3, 2.0, 30.0], dtype=torch.float64, requires_grad=True)
    kappa = torch.tensor([0.7, 2.0, 3.0, 9.0, 1.5, 6.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (x, kappa))
    assert torch.autograd.gradgradcheck(function, (x, kappa))


def test_the_normal_is_finite_everywhere_in_float32() -> None:
    x = torch.tensor([-1e6, -50.0, 0.0, 50.0, 1e6], requires_grad=True)
    for function in (normal_log_survival, normal_hazard):
        value = function(x)
        (gradient,) = torch.autograd.grad(value.sum(), x)
        assert torch.isfinite(value).all()
        assert torch.isfinite(gradient).all()
