"""Contrast accuracy cannot be fooled by one score for all aspects, nor by noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import DataError
from dmrank.metrics import contrast_accuracy

RNG = np.random.default_rng(0)
OBSERVED = RNG.integers(-4, 5, (4_000, 4)).astype(float)
POINTER = np.arange(0, 4_001, 10)


def test_the_truth_is_always_right() -> None:
    assert contrast_accuracy(OBSERVED, OBSERVED, POINTER).pooled == 1.0


def test_one_score_for_all_aspects_gets_nothing() -> None:
    same = np.repeat(OBSERVED.mean(axis=1, keepdims=True), 4, axis=1)
    assert contrast_accuracy(OBSERVED, same, POINTER).pooled == 0.0


def test_noise_gets_one_half() -> None:
    noise = RNG.normal(size=OBSERVED.shape)
    assert contrast_accuracy(OBSERVED, noise, POINTER).pooled == pytest.approx(0.5, abs=0.02)


@given(st.floats(0.1, 10), st.integers(0, 2**32))
def test_what_moves_all_aspects_alike_changes_nothing(factor: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=OBSERVED.shape)
    moved = factor * (predicted + rng.normal(size=(len(OBSERVED), 1)))
    one, other = (contrast_accuracy(OBSERVED, p, POINTER) for p in (predicted, moved))
    # A contrast near 0 may change its sign by rounding.
    assert other.pooled == pytest.approx(one.pooled, abs=2e-3)


def test_a_missing_rating_leaves_its_contrasts_out() -> None:
    observed = np.array([[1.0, np.nan, -1.0]])
    assert contrast_accuracy(observed, [[0.2, 9.0, 0.1]], [0, 1]).pooled == 1.0
    assert contrast_accuracy(observed, [[0.1, 9.0, 0.2]], [0, 1]).pooled == 0.0


def test_rounding_of_a_scale_is_no_contrast() -> None:
    """0.2 · 3 − 0.2 · 2 and 0.2 are the same step of a scale from 0 to 20."""
    observed = np.array([[0.2 * 3 - 0.2 * 2, 0.2]])
    assert observed[0, 0] != observed[0, 1]
    assert np.isnan(contrast_accuracy(observed, [[1.0, 0.0]], [0, 1]).pooled)


def test_one_aspect_has_no_contrast() -> None:
    with pytest.raises(DataError, match="at least two aspects"):
        contrast_accuracy([[1.0]], [[1.0]], [0, 1])
