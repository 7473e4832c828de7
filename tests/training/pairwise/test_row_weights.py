"""Rows that are drawn in proportion to weights."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dmrank.training.data import training_data
from dmrank.training.pairwise.dmr_settings import StepSettings
from dmrank.training.pairwise.row_weights import (
    expected_draws,
    inverse_weights,
    with_row_weights,
)
from tests.training.problems import ITEMS, USERS, drawn_pairs, random_data

MANY = StepSettings(batch_size=60_000, seed=1)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=200))
def test_draws_are_in_proportion_to_weights(weights: list[float]) -> None:
    n = len(weights)
    data = training_data(np.array([0, n]), np.arange(n), np.ones((n, 2)), n_items=n + 1)
    data = with_row_weights(data, np.array(weights))
    assert (data.row_chances >= 0).all()
    assert (data.row_chances <= 1).all()
    expected = np.array(weights) / np.mean(weights)
    # A chance has seven digits, of which a row gathers those that it takes the place of.
    np.testing.assert_allclose(expected_draws(data), expected, atol=1e-6 * n, rtol=1e-6)


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=50), st.floats(1, 100))
def test_weights_are_inverse_propensities_up_to_a_limit(met: list[float], most: float) -> None:
    weights = inverse_weights(np.array(met), most)
    free = 1 / np.array(met)
    limit = most * np.median(free)
    np.testing.assert_array_equal(weights[free <= limit], free[free <= limit])
    assert weights.max() <= limit


def test_pairs_with_an_unrated_item_come_as_often_as_their_rating_counts() -> None:
    data = random_data()
    weights = np.random.default_rng(0).uniform(0.2, 3, len(data.items))
    pairs = drawn_pairs(with_row_weights(data, weights), MANY, 0, 0)
    cells = np.bincount(pairs.users * ITEMS + pairs.items[:, 0], minlength=USERS * ITEMS)
    expected = MANY.batch_size * weights / weights.sum()
    observed = cells[data.row_users * ITEMS + data.items]
    assert (np.abs(observed - expected) < 6 * np.sqrt(expected)).all()


def test_pairs_of_two_rated_items_come_as_often_as_ever() -> None:
    data = random_data()
    weights = np.random.default_rng(0).uniform(0.2, 3, len(data.items))
    only_rated = StepSettings(batch_size=5_000, rated_share=1.0, seed=1)
    plain = drawn_pairs(data, only_rated, 0, 0)
    weighed = drawn_pairs(with_row_weights(data, weights), only_rated, 0, 0)
    np.testing.assert_array_equal(plain.items, weighed.items)
