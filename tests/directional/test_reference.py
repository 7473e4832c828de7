"""The reference is the line integral of the density, and its gradients those of that integral."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dmrank.directional import (
    Gaussian,
    Student,
    cholesky_gradient,
    confidence,
    gradients,
    log_likelihood,
    ray_statistics,
)
from tests.directional.pairs import (
    FAMILIES,
    Pair,
    families,
    line_integral,
    log_density,
    pairs,
    power,
    random_pair,
)

SCALE = st.floats(0.1, 10)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("aspects", [1, 2, 3, 5, 8, 14])
def test_log_likelihood_is_the_line_integral_of_the_density(
    family: Gaussian | Student, aspects: int
) -> None:
    pair = random_pair(aspects, seed=0)
    n = power(family, aspects)
    integral = line_integral(log_density(family, pair), pair.difference, family.margin, n)
    assert log_likelihood(*pair, family) == pytest.approx(np.log(integral), abs=1e-7)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("aspects", [1, 5, 14])
def test_confidence_is_the_line_integral_along_the_predicted_mean(
    family: Gaussian | Student, aspects: int
) -> None:
    pair = random_pair(aspects, seed=1)
    direction = pair.mean / np.linalg.norm(pair.mean)
    integral = line_integral(log_density(family, pair), direction, 0, power(family, aspects))
    assert confidence(pair.mean, pair.covariance, family) == pytest.approx(integral, rel=1e-7)


def test_confidence_of_no_mean_is_zero() -> None:
    assert confidence(np.zeros(3), np.eye(3), Gaussian()) == 0
    kept = [True, False, False]
    assert confidence([0.0, 2.0, np.nan], np.eye(3), Gaussian(), kept) == 0


def test_confidence_grows_as_the_covariance_concentrates() -> None:
    mean = np.array([1.0, 1.0])
    along = np.array([[1.0, 0.9], [0.9, 1.0]])
    across = np.array([[1.0, -0.9], [-0.9, 1.0]])
    assert confidence(mean, along, Gaussian()) > confidence(mean, across, Gaussian())


def quadrature_log_likelihood(
    d: torch.Tensor, mean: torch.Tensor, covariance: torch.Tensor, family: Gaussian | Student
) -> torch.Tensor:
    """Integrate the unnormalised density over γ = ξ + u/(1−u), u in (0, 1), in torch."""
    nodes, weights = (torch.tensor(a) for a in np.polynomial.legendre.leggauss(400))
    u = (nodes + 1) / 2
    gamma = family.margin + u / (1 - u)
    residual = gamma[:, None] * d - mean
    Q = (residual * torch.linalg.solve(covariance, residual.T).T).sum(1)
    if isinstance(family, Gaussian):
        log_p = -Q / 2
    else:
        eta = family.degrees_of_freedom
        log_p = -(eta + len(d)) / 2 * torch.log1p(Q / eta)
    log_weights = torch.log(weights / 2) - 2 * torch.log1p(-u)
    log_weights = log_weights + power(family, len(d)) * torch.log(gamma)
    return torch.logsumexp(log_p + log_weights, 0) - torch.logdet(covariance) / 2


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("aspects", [1, 2, 5, 8, 14])
def test_gradients_agree_with_automatic_differentiation(
    family: Gaussian | Student, aspects: int
) -> None:
    pair = random_pair(aspects, seed=2)
    d, mean, covariance = (torch.tensor(value) for value in pair)
    mean.requires_grad_()
    factor = torch.linalg.cholesky(covariance).requires_grad_()
    quadrature_log_likelihood(d, mean, factor @ factor.T, family).backward()

    computed = gradients(*pair, family)
    by_factor = cholesky_gradient(computed.covariance, factor.detach().numpy())
    np.testing.assert_allclose(computed.mean, mean.grad, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(by_factor, torch.tril(factor.grad), rtol=1e-8, atol=1e-9)


@given(pair=pairs(), family=families())
def test_the_gradient_by_the_covariance_is_symmetric(pair: Pair, family: Gaussian) -> None:
    G = gradients(*pair, family).covariance
    np.testing.assert_allclose(G, G.T, atol=1e-12 * np.abs(G).max())


@given(pair=pairs(), family=families(), data=st.data())
def test_padding_marginalises_the_dropped_aspects(
    pair: Pair, family: Gaussian | Student, data: st.DataObject
) -> None:
    aspects = len(pair.mean)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=aspects, max_size=aspects)))
    kept[0] = True
    unknown = np.where(kept, pair.difference, np.nan)
    inside = np.ix_(kept, kept)
    left = Pair(pair.difference[kept], pair.mean[kept], pair.covariance[inside])

    padded = gradients(unknown, pair.mean, pair.covariance, family, kept)
    dropped = gradients(*left, family)
    np.testing.assert_allclose(
        log_likelihood(unknown, pair.mean, pair.covariance, family, kept),
        log_likelihood(*left, family),
        rtol=1e-9,
    )
    np.testing.assert_allclose(padded.mean[kept], dropped.mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(padded.covariance[inside], dropped.covariance, rtol=1e-7, atol=1e-9)
    assert not padded.mean[~kept].any()
    assert not padded.covariance[~kept].any()
    assert not padded.covariance[:, ~kept].any()
    np.testing.assert_allclose(
        confidence(pair.mean, pair.covariance, family, kept),
        confidence(left.mean, left.covariance, family),
        rtol=1e-9,
    )


@given(pair=pairs(), family=families(), c=SCALE)
def test_the_length_of_the_difference_matters_only_by_a_constant(
    pair: Pair, family: Gaussian | Student, c: float
) -> None:
    """∫ γⁿ p(γ·c·d) dγ = c^{−n−1} ∫ γⁿ p(γ·d) dγ: a longer d has the same direction."""
    bare = family.without_margin()
    longer = log_likelihood(c * pair.difference, pair.mean, pair.covariance, bare)
    expected = log_likelihood(*pair, bare) - (power(family, len(pair.mean)) + 1) * np.log(c)
    assert longer == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(pair=pairs(), family=families(), c=SCALE)
def test_the_scale_of_the_model_is_not_identified_without_margin(
    pair: Pair, family: Gaussian | Student, c: float
) -> None:
    """(μ, Σ) → (cμ, c²Σ) changes the log-likelihood by −(K−1) ln c along a ray, else not at all."""
    bare = family.without_margin()
    scaled = log_likelihood(pair.difference, c * pair.mean, c**2 * pair.covariance, bare)
    K = len(pair.mean)
    expected = log_likelihood(*pair, bare) - (K - 1 - power(family, K)) * np.log(c)
    assert scaled == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(pair=pairs(), family=families(), seed=st.integers(0, 1000))
def test_aspects_can_be_mixed_linearly(pair: Pair, family: Gaussian | Student, seed: int) -> None:
    """D → MD moves the density by |det M| and leaves the ray statistics alone."""
    K = len(pair.mean)
    M = np.eye(K) + np.random.default_rng(seed).uniform(-0.3, 0.3, (K, K)) / K
    mixed = Pair(M @ pair.difference, M @ pair.mean, M @ pair.covariance @ M.T)
    for before, after in zip(ray_statistics(*pair)[:3], ray_statistics(*mixed)[:3], strict=True):
        assert after == pytest.approx(before, rel=1e-7, abs=1e-9)
    expected = log_likelihood(*pair, family) - np.linalg.slogdet(M).logabsdet
    assert log_likelihood(*mixed, family) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_what_is_off_the_ray_is_never_negative_and_is_zero_on_it() -> None:
    batch = random_pair(8, seed=3, batch=(200,))
    assert (ray_statistics(*batch).E >= 0).all()
    on_ray = ray_statistics(batch.difference, 0.7 * batch.difference, batch.covariance)
    np.testing.assert_allclose(on_ray.rho, 0.7)
    np.testing.assert_allclose(on_ray.E, 0, atol=1e-12)


@pytest.mark.parametrize("family", [Gaussian(0.2), Student(0.5, 0.2)], ids=str)
@pytest.mark.parametrize("kept", [None, [False, True, True], [False, False, False]])
def test_a_pair_without_direction_says_nothing(
    family: Gaussian | Student, kept: list[bool] | None
) -> None:
    pair = random_pair(3, seed=4)
    d = np.zeros(3) if kept is None else np.where(kept, 0.0, np.nan)
    likelihood = log_likelihood(d, pair.mean, pair.covariance, family, kept)
    by_mean, by_covariance = gradients(d, pair.mean, pair.covariance, family, kept)
    assert likelihood == 0
    assert not by_mean.any()
    assert not by_covariance.any()


@pytest.mark.parametrize("family", [Gaussian(0.2), Student(4, 0.2)], ids=str)
def test_a_batch_is_its_pairs_one_by_one(family: Gaussian | Student) -> None:
    batch = random_pair(4, seed=5, batch=(2, 3))
    batch.difference[0, 1] = 0
    kept = np.random.default_rng(5).random((2, 3, 4)) < 0.7
    likelihoods = log_likelihood(*batch, family, kept)
    by_mean, by_covariance = gradients(*batch, family, kept)
    certain = confidence(batch.mean, batch.covariance, family, kept)
    for at in np.ndindex(2, 3):
        one = Pair(*(array[at] for array in batch))
        assert likelihoods[at] == pytest.approx(log_likelihood(*one, family, kept[at]))
        np.testing.assert_allclose(by_mean[at], gradients(*one, family, kept[at]).mean)
        np.testing.assert_allclose(by_covariance[at], gradients(*one, family, kept[at]).covariance)
        assert certain[at] == pytest.approx(confidence(one.mean, one.covariance, family, kept[at]))


def test_one_covariance_serves_a_whole_batch() -> None:
    batch = random_pair(4, seed=6, batch=(3,))
    shared = batch.covariance[0]
    repeated = np.broadcast_to(shared, (3, 4, 4))
    one = gradients(batch.difference, batch.mean, shared, Gaussian(0.2))
    many = gradients(batch.difference, batch.mean, repeated, Gaussian(0.2))
    np.testing.assert_array_equal(one.mean, many.mean)
    np.testing.assert_array_equal(one.covariance, many.covariance)


def test_a_covariance_that_is_not_positive_definite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        log_likelihood([1.0, 2.0], [1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]], Gaussian())
