"""The compiled criterion is the reference, to the precision of float32."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmrank.compiled.transpose import QUAD
from dmrank.directional import (
    Gaussian,
    ProjectedGaussian,
    ProjectedStudent,
    Student,
    gradients,
    log_likelihood,
)
from dmrank.directional.batches import evaluate, family_constants
from dmrank.directional.families import Family
from dmrank.directional.kernels import new_block

BATCH = 40
RESOLUTION = float(np.finfo(np.float32).eps)


def random_batch(
    aspects: int, seed: int, missing: float, smallest: float
) -> tuple[np.ndarray, ...]:
    """Draw pairs among which d is random, nearly parallel or nearly opposite to the mean."""
    rng = np.random.default_rng([aspects, seed])
    mean = rng.normal(size=(BATCH, aspects)) * rng.choice([0.1, 1.0, 5.0], (BATCH, 1))
    difference = rng.integers(-4, 6, (BATCH, aspects)).astype(float)
    difference[:10] = 2 * mean[:10] + 1e-3 * rng.normal(size=(10, aspects))
    difference[10:20] = -mean[10:20] + 1e-3 * rng.normal(size=(10, aspects))
    difference[20] = 0
    axes = np.linalg.qr(rng.normal(size=(BATCH, aspects, aspects)))[0]
    variances = np.exp(rng.uniform(np.log(smallest), np.log(3), (BATCH, aspects)))
    covariance = (axes * variances[:, None, :]) @ axes.transpose(0, 2, 1)
    difference[rng.random((BATCH, aspects)) < missing] = np.nan
    # Rounded once, so that reference and kernel see the same numbers.
    return tuple(array.astype(np.float32).astype(float) for array in (difference, mean, covariance))


FAMILIES = (
    Gaussian(0.2),
    Student(4.0, 0.2),
    ProjectedGaussian(0.2),
    ProjectedStudent(4.0, 0.2),
)


def families() -> st.SearchStrategy[Family]:
    margin = st.floats(0, 50)
    eta = st.floats(0.5, 50)
    gaussian = st.builds(Gaussian, margin) | st.builds(ProjectedGaussian, margin)
    return gaussian | st.builds(Student, eta, margin) | st.builds(ProjectedStudent, eta, margin)


def assert_is_the_reference(batch: tuple[np.ndarray, ...], family: Family) -> None:
    difference, mean, covariance = batch
    kept = ~np.isnan(difference)
    ours = evaluate(difference, mean, covariance, family)
    condition = np.linalg.cond(covariance)
    error = 20 * RESOLUTION * condition

    exact = log_likelihood(difference, mean, covariance, family, kept)
    assert (np.abs(ours.log_likelihood - exact) <= error * (1 + np.abs(exact))).all()

    exact = gradients(difference, mean, covariance, family, kept)
    # Gradients are differences of terms of the size of Σ⁻¹μ and Σ⁻¹: that is what they cancel to.
    precision = 1 / np.linalg.eigvalsh(covariance)[:, 0]
    size = precision * (1 + np.linalg.norm(mean, axis=1) + np.abs(exact.mean).max(axis=1))
    assert (np.abs(ours.mean_gradient - exact.mean).max(axis=1) <= error * size).all()
    size = precision + size**2 + np.abs(exact.covariance).max(axis=(1, 2))
    difference_of_G = np.abs(ours.covariance_gradient - exact.covariance).max(axis=(1, 2))
    assert (difference_of_G <= error * size).all()


@settings(max_examples=120)
@given(
    aspects=st.integers(1, 16),
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.3]),
    family=families(),
)
def test_kernels_are_the_reference(aspects: int, seed: int, missing: float, family: Family) -> None:
    assert_is_the_reference(random_batch(aspects, seed, missing, smallest=0.1), family)


@settings(max_examples=30)
@given(aspects=st.integers(2, 14), seed=st.integers(0, 10_000), family=families())
def test_kernels_are_the_reference_where_the_covariance_is_nearly_singular(
    aspects: int, seed: int, family: Family
) -> None:
    assert_is_the_reference(random_batch(aspects, seed, missing=0.0, smallest=1e-4), family)


@pytest.mark.parametrize("aspects", [1, 5, 14])
@pytest.mark.parametrize(
    "family",
    FAMILIES,
    ids=str,
)
def test_errors_are_those_of_float32(aspects: int, family: Family) -> None:
    """With a well-conditioned Σ nothing is lost beyond some units in the last place."""
    difference, mean, covariance = random_batch(aspects, 0, missing=0.0, smallest=0.5)
    ours = evaluate(difference, mean, covariance, family)
    exact = log_likelihood(difference, mean, covariance, family)
    np.testing.assert_allclose(ours.log_likelihood, exact, rtol=3e-6, atol=3e-6)
    exact = gradients(difference, mean, covariance, family)
    np.testing.assert_allclose(ours.mean_gradient, exact.mean, rtol=1e-5, atol=3e-5)
    np.testing.assert_allclose(ours.covariance_gradient, exact.covariance, rtol=1e-5, atol=3e-4)


@pytest.mark.parametrize(
    "family",
    FAMILIES,
    ids=str,
)
def test_a_singular_covariance_gives_finite_numbers(family: Family) -> None:
    direction = np.ones(6)
    singular = np.outer(direction, direction)
    pairs = evaluate([np.arange(6.0)], [direction], [singular], family)
    assert all(np.isfinite(array).all() for array in pairs)


@pytest.mark.parametrize("difference", [[0.0, 0.0, 0.0], [np.nan] * 3, [0.0, np.nan, 0.0]])
@pytest.mark.parametrize(
    "family",
    FAMILIES,
    ids=str,
)
def test_a_pair_without_a_direction_counts_nothing(difference: list[float], family: Family) -> None:
    pairs = evaluate([difference], [[1.0, 2.0, 3.0]], [np.eye(3)], family)
    assert all((array == 0).all() for array in pairs)


def test_a_batch_need_not_fill_whole_blocks() -> None:
    difference, mean, covariance = random_batch(3, 0, missing=0.0, smallest=0.1)
    whole = evaluate(difference, mean, covariance, Gaussian(0.2))
    for size in (1, 15, 16, 17):
        part = evaluate(difference[:size], mean[:size], covariance[:size], Gaussian(0.2))
        np.testing.assert_array_equal(part.log_likelihood, whole.log_likelihood[:size])
        np.testing.assert_array_equal(part.covariance_gradient, whole.covariance_gradient[:size])


@pytest.mark.parametrize("aspects", range(1, 18))
def test_scratch_memory_has_whole_quads_of_rows(aspects: int) -> None:
    """Four rows are moved at once: a block with fewer would be written beyond its end."""
    block = new_block(aspects, family_constants(Gaussian(0.2), aspects))
    vectors = (block.difference, block.mean, block.kept, block.mean_gradient)
    matrices = (block.covariance, block.covariance_gradient)
    for arrays, least in ((vectors, aspects), (matrices, aspects * (aspects + 1) // 2)):
        for array in arrays:
            assert array.shape[0] % QUAD == 0
            assert least <= array.shape[0] < least + QUAD
