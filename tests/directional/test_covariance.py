"""The prior of a covariance matrix is an inverse-Wishart density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dmrank.directional import inverse_wishart_gradient, inverse_wishart_log_prior
from dmrank.support.errors import ConfigError
from tests.directional.pairs import random_pair


@pytest.mark.parametrize("aspects", [1, 2, 5, 14])
def test_the_prior_is_an_inverse_wishart_density(aspects: int) -> None:
    Sigma = random_pair(aspects, seed=7, batch=(3,)).covariance
    Psi, nu = random_pair(aspects, seed=8).covariance, aspects + 2.5
    expected = [stats.invwishart(nu, Psi).logpdf(matrix) for matrix in Sigma]
    np.testing.assert_allclose(inverse_wishart_log_prior(Sigma, Psi, nu), expected, rtol=1e-10)


def test_the_gradient_of_the_prior_vanishes_at_its_mode() -> None:
    K, nu = 4, 7.0
    Psi = random_pair(K, seed=9).covariance
    np.testing.assert_allclose(inverse_wishart_gradient(Psi / (nu + K + 1), Psi, nu), 0, atol=1e-10)


def test_an_improper_prior_has_no_density() -> None:
    with pytest.raises(ConfigError, match="needs above 2"):
        inverse_wishart_log_prior(np.eye(3), np.eye(3), 2.0)
