"""What the sampler draws."""

from __future__ import annotations

import numpy as np
import pytest

from dmrank.training.data import training_data
from dmrank.training.pairwise.dmr_settings import StepSettings
from tests.training.problems import ASPECTS, ITEMS, USERS, drawn_pairs, random_data

MANY = StepSettings(batch_size=60_000, seed=1)


def rating(data, user: int, item: int) -> np.ndarray:
    rows = range(data.user_ptr[user], data.user_ptr[user + 1])
    return next((data.values[row] for row in rows if data.items[row] == item), np.zeros(ASPECTS))


def test_a_pair_is_a_rated_item_against_another_one() -> None:
    data = random_data()
    pairs = drawn_pairs(data, StepSettings(batch_size=500), 0, 0)
    for user, (i, j), d in zip(pairs.users, pairs.items, pairs.differences, strict=True):
        assert i != j
        assert i in data.items[data.user_ptr[user] : data.user_ptr[user + 1]]
        np.testing.assert_array_equal(d[:ASPECTS], rating(data, user, i) - rating(data, user, j))


def test_the_row_of_a_rated_second_item_is_known() -> None:
    data = random_data()
    pairs = drawn_pairs(data, StepSettings(batch_size=500), 0, 0)
    is_rated = [
        rating(data, u, j).any() for u, (_, j) in zip(pairs.users, pairs.items, strict=True)
    ]
    np.testing.assert_array_equal(pairs.second_rows >= 0, is_rated)
    rows = pairs.second_rows[is_rated]
    np.testing.assert_array_equal(data.items[rows], pairs.items[is_rated, 1])
    np.testing.assert_array_equal(data.row_users[rows], pairs.users[is_rated])


def test_ratings_are_drawn_uniformly() -> None:
    data = random_data()
    pairs = drawn_pairs(data, MANY, 0, 0)
    cells = np.bincount(pairs.users * ITEMS + pairs.items[:, 0], minlength=USERS * ITEMS)
    observed = cells[data.row_users * ITEMS + data.items]
    expected = MANY.batch_size / len(data.items)
    # Redrawn pairs are few: equal rating vectors among random ones.
    assert np.abs(observed - expected).max() < 6 * np.sqrt(expected)


def test_without_rated_share_the_second_item_is_uniform_over_all_others() -> None:
    pairs = drawn_pairs(random_data(), MANY, 0, 0)
    second = pairs.items[pairs.items[:, 0] == 4, 1]
    counts = np.bincount(second, minlength=ITEMS)
    assert counts[4] == 0
    expected = len(second) / (ITEMS - 1)
    assert np.abs(np.delete(counts, 4) - expected).max() < 6 * np.sqrt(expected)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_rated_share_is_drawn_from_the_items_of_the_user(share: float) -> None:
    data = random_data()
    pairs = drawn_pairs(data, StepSettings(batch_size=20_000, rated_share=share), 0, 0)
    n_u = np.diff(data.user_ptr)[pairs.users]
    # A user with one rating has no rated pair: those draws are made again.
    by_chance = ((n_u - 1) / (ITEMS - 1))[n_u > 1].mean()
    observed = (pairs.second_rows[n_u > 1] >= 0).mean()
    assert observed == pytest.approx(share + (1 - share) * by_chance, abs=0.02)


def test_pairs_depend_on_seed_iteration_and_step_only() -> None:
    data = random_data()
    settings = StepSettings(batch_size=50, seed=3)
    first = drawn_pairs(data, settings, 7, 1)
    np.testing.assert_array_equal(drawn_pairs(data, settings, 7, 1).items, first.items)
    others = [(StepSettings(batch_size=50, seed=4), 7, 1), (settings, 8, 1), (settings, 7, 0)]
    for other in others:
        assert (drawn_pairs(data, *other).items != first.items).any()
    longer = drawn_pairs(data, StepSettings(batch_size=80, seed=3), 7, 1)
    np.testing.assert_array_equal(longer.items[:50], first.items)


def test_pairs_without_a_direction_are_drawn_again_and_in_the_end_skipped() -> None:
    # Two users who rated both items the same: rated pairs have no direction.
    values = np.full((4, 2), 3, dtype=np.float32)
    data = training_data(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), values, n_items=2)
    pairs = drawn_pairs(data, StepSettings(batch_size=100), 0, 0)
    assert (pairs.users == -1).all()
    assert (pairs.items == -1).all()
    assert not pairs.differences.any()
    # With a third item some pairs have one, and only those are drawn.
    data = training_data(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), values, n_items=3)
    pairs = drawn_pairs(data, StepSettings(batch_size=100), 0, 0)
    assert (pairs.items[:, 1] == 2).all()


def test_a_missing_aspect_is_nan_in_the_difference() -> None:
    data = random_data(missing=0.4)
    pairs = drawn_pairs(data, StepSettings(batch_size=2_000, rated_share=0.5), 0, 0)
    for user, (i, j), d in zip(pairs.users, pairs.items, pairs.differences, strict=True):
        expected = rating(data, user, i) - rating(data, user, j)
        np.testing.assert_array_equal(d[:ASPECTS], expected)
        assert (np.nan_to_num(d) != 0).any()


def test_missing_as_zero_counts_as_rated_zero() -> None:
    values = np.array([[5, np.nan], [1, 2]], dtype=np.float32)
    data = training_data(np.array([0, 2]), np.array([0, 1]), values, n_items=2, missing="zero")
    assert data.complete
    pairs = drawn_pairs(data, StepSettings(batch_size=10), 0, 0)
    np.testing.assert_array_equal(np.abs(pairs.differences[:, :2]), [[4, 2]] * 10)
