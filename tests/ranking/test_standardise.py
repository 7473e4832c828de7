"""Scores on one scale: deviations from the mean over the items that count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dmrank.ranking.standardise import Share, add_standardised

ITEMS = 7
scores_of_users = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.just(ITEMS)),
    elements=st.floats(-100, 100, width=32),
)


def standardised(scores, items=None, of_score=1.0, of_squashed=0.0, threads=1):
    total = np.zeros_like(scores)
    weights = np.full(len(scores), of_score, dtype=np.float32)
    counted = np.arange(scores.shape[1]) if items is None else np.asarray(items)
    add_standardised(total, scores, counted, Share(weights, np.float32(of_squashed)), threads)
    return total


@given(scores_of_users)
@settings(max_examples=60, deadline=None)
def test_mean_0_and_deviation_1_or_nothing_said(scores) -> None:
    z = standardised(scores)
    for row in z:
        if (row == 0).all():
            continue
        assert row.mean() == pytest.approx(0, abs=1e-3)
        assert row.std() == pytest.approx(1, abs=1e-3)


@given(scores_of_users, st.floats(0.01, 100), st.floats(-50, 50))
@settings(max_examples=60, deadline=None)
def test_scale_and_level_do_not_matter(scores, scale: float, level: float) -> None:
    # Rounding to a common grid keeps differences apart from rounding.
    base = np.round(scores).astype(np.float32)
    moved = (base * np.float32(scale) + np.float32(level)).astype(np.float32)
    clear = base.std(axis=1) > 0.1
    spread = moved.std(axis=1) > 1e-3 * np.abs(moved).max(axis=1)
    rows = clear & spread
    np.testing.assert_allclose(standardised(moved)[rows], standardised(base)[rows], atol=0.02)


def test_items_that_do_not_count_are_measured_by_those_that_do() -> None:
    scores = np.float32([[0, 2, 100]])
    np.testing.assert_allclose(standardised(scores, items=[0, 1]), [[-1, 1, 99]])


def test_one_score_for_all_items_says_nothing() -> None:
    assert (standardised(np.full((2, 4), 3.7, dtype=np.float32)) == 0).all()


def test_what_is_squashed_stays_within_three_and_in_order() -> None:
    scores = np.float32([np.linspace(-5, 5, 101)]) ** 5
    squashed = standardised(scores, of_score=0.0, of_squashed=1.0)[0]
    assert np.abs(squashed).max() <= 3
    assert (np.diff(squashed) >= 0).all()


def test_users_and_threads_change_no_bit() -> None:
    scores = np.random.default_rng(0).normal(size=(50, 300)).astype(np.float32)
    whole = standardised(scores, of_squashed=0.5, threads=3)
    np.testing.assert_array_equal(whole, standardised(scores, of_squashed=0.5, threads=1))
    np.testing.assert_array_equal(whole[17:18], standardised(scores[17:18], of_squashed=0.5))
