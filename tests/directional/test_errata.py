"""Errata of the paper: each printed formula is wrong, and ours is right.

The truth is automatic differentiation, in float64, of the log-likelihood as the paper's Eq. 5
states it, which is right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy import integrate

from dmrank.directional import (
    Gaussian,
    cholesky_gradient,
    gradients,
    inverse_wishart_gradient,
    inverse_wishart_log_prior,
)
from tests.directional.pairs import Pair, random_pair

MARGIN = 0.3


def log_likelihood_of_the_paper(
    d: torch.Tensor, mean: torch.Tensor, covariance: torch.Tensor
) -> torch.Tensor:
    """Evaluate the pair's term of the objective function (paper 3.2.2)."""
    A, B, C = (a @ torch.linalg.solve(covariance, b) for a, b in [(d, d), (d, mean), (mean, mean)])
    Z = torch.sqrt(A / 2) * (MARGIN - B / A)
    bracket = torch.logdet(covariance) + C - B**2 / A + torch.log(2 * A)
    return -bracket / 2 + torch.log(torch.erfc(Z))


class Terms(NamedTuple):
    """The symbols of the paper's appendix."""

    inverse: np.ndarray
    s: np.ndarray
    t: np.ndarray
    A: float
    B: float
    C: float
    g: float


def terms(pair: Pair) -> Terms:
    inverse = np.linalg.inv(pair.covariance)
    s, t = inverse @ pair.difference, inverse @ pair.mean
    A, B = pair.difference @ s, pair.difference @ t
    Z = math.sqrt(A / 2) * (MARGIN - B / A)
    g = 2 / math.sqrt(math.pi) * math.exp(-(Z**2)) / math.erfc(Z)
    return Terms(inverse, s, t, A, B, pair.mean @ t, g)


def gradient_of_z(pair: Pair, last_factor: float) -> np.ndarray:
    """Return ∂Z/∂Σ with the given factor in place of the appendix's last B/(2√(2A)) · 1/(2A)."""
    _, s, t, A, *_ = terms(pair)
    root = math.sqrt(2 * A)
    return (
        -MARGIN / (2 * root) * np.outer(s, s) + np.outer(s, t) / root - last_factor * np.outer(s, s)
    )


def printed_gradient(pair: Pair, sign_of_2ab: int, gradient_of_z: np.ndarray) -> np.ndarray:
    """Return the appendix's ∂L/∂Σ, with the sign of its term 2AB(…) and its ∂Z/∂Σ left open."""
    inverse, s, t, A, B, _, g = terms(pair)
    bracket = sign_of_2ab * 2 * A * B * np.outer(s, t) + B**2 * np.outer(s, s)
    return (
        -inverse / 2
        + np.outer(t, t) / 2
        + bracket / (2 * A**2)
        + np.outer(s, s) / (2 * A)
        - g * gradient_of_z
    )


def symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2


@pytest.fixture(params=[1, 2, 5])
def pair(request: pytest.FixtureRequest) -> Pair:
    return random_pair(request.param, seed=11)


@pytest.fixture
def true_gradient(pair: Pair) -> np.ndarray:
    d, mean, covariance = (torch.tensor(value) for value in pair)
    covariance.requires_grad_()
    log_likelihood_of_the_paper(d, mean, covariance).backward()
    return symmetric(covariance.grad.numpy())


def factor_of_z(pair: Pair) -> float:
    A, B = terms(pair)[3:5]
    return B / (2 * A * math.sqrt(2 * A))


def test_1_the_printed_prior_is_no_density() -> None:
    """With e^{+½tr(ΨΣ⁻¹)} it cannot be integrated; with a minus it is inverse-Wishart."""
    psi, nu = 3.0, 4.0

    def printed(sigma: float) -> float:
        ours = inverse_wishart_log_prior([[sigma]], [[psi]], nu)
        return float(ours) + psi / sigma

    def ours(sigma: float) -> float:
        return math.exp(inverse_wishart_log_prior([[sigma]], [[psi]], nu))

    assert integrate.quad(ours, 0, np.inf)[0] == pytest.approx(1)
    assert printed(1e-3) > 1000, "unbounded at 0, where a density would have to vanish"
    assert inverse_wishart_log_prior([[1e-3]], [[psi]], nu) < -1000


def test_1_the_gradient_of_the_appendix_belongs_to_the_minus_sign() -> None:
    K, nu = 4, 9.0
    Sigma, Psi = (random_pair(K, seed=seed).covariance for seed in (12, 13))

    def by_autograd(sign: int) -> np.ndarray:
        covariance = torch.tensor(Sigma, requires_grad=True)
        trace = torch.trace(torch.linalg.solve(covariance, torch.tensor(Psi)))
        (-(nu + K + 1) / 2 * torch.logdet(covariance) + sign * trace / 2).backward()
        return symmetric(covariance.grad.numpy())

    ours = inverse_wishart_gradient(Sigma, Psi, nu)
    np.testing.assert_allclose(ours, by_autograd(-1), rtol=1e-9, atol=1e-10)
    assert not np.allclose(ours, by_autograd(+1), rtol=0.01)


def test_2_the_term_2ab_has_the_wrong_sign(pair: Pair, true_gradient: np.ndarray) -> None:
    right_z = gradient_of_z(pair, factor_of_z(pair))
    printed = symmetric(printed_gradient(pair, +1, right_z))
    mended = symmetric(printed_gradient(pair, -1, right_z))

    assert not np.allclose(printed, true_gradient, rtol=0.01)
    np.testing.assert_allclose(mended, true_gradient, rtol=1e-9, atol=1e-10)
    ours = gradients(*pair, Gaussian(MARGIN)).covariance
    np.testing.assert_allclose(ours, true_gradient, rtol=1e-9, atol=1e-10)


def test_3_the_last_factor_of_the_gradient_of_z_is_halved(
    pair: Pair, true_gradient: np.ndarray
) -> None:
    d, mean, covariance = (torch.tensor(value) for value in pair)
    covariance.requires_grad_()
    A, B = (d @ torch.linalg.solve(covariance, v) for v in (d, mean))
    (torch.sqrt(A / 2) * (MARGIN - B / A)).backward()
    true_gradient_of_z = symmetric(covariance.grad.numpy())

    printed = symmetric(gradient_of_z(pair, factor_of_z(pair) / 2))
    mended = symmetric(gradient_of_z(pair, factor_of_z(pair)))
    assert not np.allclose(printed, true_gradient_of_z, rtol=0.01)
    np.testing.assert_allclose(mended, true_gradient_of_z, rtol=1e-9, atol=1e-10)
    # The halved factor alone spoils the gradient of the log-likelihood.
    assert not np.allclose(symmetric(printed_gradient(pair, -1, printed)), true_gradient, rtol=0.01)


def test_4_the_chain_to_the_factor_needs_a_symmetric_gradient() -> None:
    pair = random_pair(5, seed=14)
    d, mean, covariance = (torch.tensor(value) for value in pair)
    factor = torch.linalg.cholesky(covariance).requires_grad_()
    log_likelihood_of_the_paper(d, mean, factor @ factor.T).backward()
    true_gradient = np.tril(factor.grad.numpy())

    L = factor.detach().numpy()
    # The other errata mended, and only the symmetry left as printed.
    unsymmetric = printed_gradient(pair, -1, gradient_of_z(pair, factor_of_z(pair)))
    assert not np.allclose(cholesky_gradient(unsymmetric, L), true_gradient, rtol=0.01)
    ours = cholesky_gradient(gradients(*pair, Gaussian(MARGIN)).covariance, L)
    np.testing.assert_allclose(ours, true_gradient, rtol=1e-9, atol=1e-10)
