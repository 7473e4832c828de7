"""Σ_prior is the covariance of the ratings, and positive definite whatever they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dmrank.training.pairwise.prior import SMALLEST_VARIANCE, prior_covariance

ratings = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 30), st.integers(1, 6)),
    elements=st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, float("nan")]),
)


@given(ratings)
def test_it_is_symmetric_and_positive_definite(values) -> None:
    covariance = prior_covariance(values)
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 1e-4
    assert (np.diagonal(covariance) >= SMALLEST_VARIANCE * 0.999).all()


def test_with_many_complete_ratings_it_is_their_covariance() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    values = (rng.standard_normal((50_000, 4)) @ root).astype(np.float32)
    np.testing.assert_allclose(prior_covariance(values), np.cov(values.T), rtol=0.02, atol=0.01)


def test_missing_ratings_at_random_do_not_bias_it() -> None:
    rng = np.random.default_rng(1)
    root = rng.standard_normal((3, 3)) + 2 * np.eye(3)
    values = (rng.standard_normal((200_000, 3)) @ root).astype(np.float32)
    complete = prior_covariance(values)
    values[rng.random(values.shape) < 0.5] = np.nan
    np.testing.assert_allclose(prior_covariance(values), complete, atol=0.12)


def test_few_ratings_say_little_about_correlation() -> None:
    two = prior_covariance(np.float32([[1, 1], [5, 5]]))
    many = prior_covariance(np.tile(np.float32([[1, 1], [5, 5]]), (500, 1)))
    assert two[0, 1] < 0.6 * two[0, 0]
    assert many[0, 1] > 0.95 * many[0, 0]
