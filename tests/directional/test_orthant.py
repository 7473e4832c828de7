"""The probability that a normal vector is positive everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from dmrank.directional.orthant import log_all_positive, log_normal_cdf
from dmrank.support.errors import DataError


def drawn(seed: int, K: int, n: int = 20, shared: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, K, K + 2))
    covariance = roots @ roots.transpose(0, 2, 1) / K + shared
    return 0.7 * rng.normal(size=(n, K)), covariance


@pytest.mark.parametrize("K", [2, 3, 5, 9])
@pytest.mark.parametrize("shared", [0.0, 1.5], ids=["mixed signs", "aspects go together"])
def test_agrees_with_quadrature(K: int, shared: float) -> None:
    mean, covariance = drawn(0, K, shared=shared)
    exact = [
        stats.multivariate_normal(mean=-m, cov=S).cdf(np.zeros(K))
        for m, S in zip(mean, covariance, strict=True)
    ]
    found = np.exp(log_all_positive(mean, covariance))
    assert np.abs(found - exact).max() < 0.03
    assert np.abs(found - exact).mean() < 0.003


@given(seed=st.integers(0, 10_000), K=st.integers(1, 14))
def test_is_exact_for_independent_entries(seed: int, K: int) -> None:
    rng = np.random.default_rng(seed)
    mean, deviation = rng.normal(0, 3, K), rng.uniform(0.1, 3, K)
    found = log_all_positive([mean], [np.diag(deviation**2)])[0]
    assert found == pytest.approx(special.log_ndtr(mean / deviation).sum(), abs=1e-12)


@given(seed=st.integers(0, 10_000), K=st.integers(2, 6))
def test_the_order_of_entries_and_their_units_do_not_matter(seed: int, K: int) -> None:
    mean, covariance = drawn(seed, K, n=1)
    rng = np.random.default_rng(seed)
    order, unit = rng.permutation(K), rng.uniform(0.1, 10, K)
    other_mean = (mean * unit)[:, order]
    other = (covariance * unit[:, None] * unit)[:, order][:, :, order]
    assert log_all_positive(other_mean, other) == pytest.approx(
        log_all_positive(mean, covariance), rel=1e-9
    )


def test_aspects_that_go_together_are_more_easily_all_positive() -> None:
    apart, together = np.eye(4), 0.1 * np.eye(4) + 0.9
    found = log_all_positive(np.zeros((2, 4)), [apart, together])
    assert found[0] == pytest.approx(4 * np.log(0.5))
    assert found[1] > found[0] + 1


@pytest.mark.parametrize("z", [-1e4, -40.0, -12.1, -11.9, -3.0, 0.0, 5.0, 40.0])
def test_tails_neither_underflow_nor_jump(z: float) -> None:
    log_p, hazard = log_normal_cdf(z)
    assert log_p == pytest.approx(special.log_ndtr(z), rel=1e-12, abs=1e-15)
    exact = np.sqrt(2 / np.pi) / special.erfcx(-z / np.sqrt(2))
    assert hazard == pytest.approx(exact, rel=1e-9, abs=1e-300)


def test_neither_threads_nor_company_change_a_bit() -> None:
    mean, covariance = drawn(3, 5, n=3_000)
    found = log_all_positive(mean, covariance, threads=1)
    np.testing.assert_array_equal(found, log_all_positive(mean, covariance, threads=3))
    assert log_all_positive(mean[[2_500]], covariance[[2_500]])[0] == found[2_500]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="give \\(n, K\\) and \\(n, K, K\\)"):
        log_all_positive([[0.0, 0.0]], [[[1.0]]])
