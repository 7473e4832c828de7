"""Ranking lists that a caller gives agrees with ranking everything and keeping those."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.ranking import best_of_lists, item_columns, score_lists, top_n
from dmrank.support.errors import ConfigError, DataError
from tests.ranking.questions import ITEMS, lists, model


@given(seed=st.integers(0, 10_000), n_items=ITEMS, n=st.integers(1, 30))
def test_lists_are_ranked_like_the_same_items_among_all(seed: int, n_items: int, n: int) -> None:
    vectors, own = model(seed, 5, n_items, 4), lists(seed, 5, n_items, longest=30)
    found = best_of_lists(score_lists(*vectors, *own), *own, n)
    for user in range(5):
        allowed = np.isin(np.arange(n_items), own.of(user))
        expected = top_n(vectors.users[[user]], vectors.items, n, [0, 0], [], allowed)
        np.testing.assert_array_equal(found.items[[user]], expected.items)
        np.testing.assert_array_equal(found.scores[[user]], expected.scores)


def test_scores_have_the_bits_of_a_full_ranking() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(3, 11)), rng.normal(size=(700, 11))
    everything = (np.arange(0, 2_101, 700), np.tile(np.arange(700), 3))
    one_by_one = best_of_lists(score_lists(users, items, *everything), *everything, 700)
    at_once = top_n(users, items, 700, [0, 0, 0, 0], [])
    np.testing.assert_array_equal(one_by_one.items, at_once.items)
    np.testing.assert_array_equal(one_by_one.scores, at_once.scores)


@given(
    seed=st.integers(0, 10_000),
    n_items=ITEMS,
    taking_part=st.sampled_from([0.1, 0.9, 1.0]),
    allowed=st.sampled_from([0.0, 0.2, 0.8, 1.0]),
)
def test_columns_laid_out_once_rank_alike(
    seed: int, n_items: int, taking_part: float, allowed: float
) -> None:
    vectors, seen = model(seed, 4, n_items, 3), lists(seed, 4, n_items, longest=10)
    rng = np.random.default_rng(seed)
    part, mask = rng.random(n_items) < taking_part, rng.random(n_items) < allowed
    found = top_n(vectors.users, item_columns(vectors.items, part), 8, *seen, mask)
    expected = top_n(*vectors, 8, *seen, part & mask)
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_bad_lists_and_scores_are_refused() -> None:
    with pytest.raises(ConfigError, match="n=0"):
        best_of_lists([1.0], [0, 1], [0], 0)
    with pytest.raises(DataError, match="a score is NaN"):
        best_of_lists([np.nan], [0, 1], [0], 1)
    with pytest.raises(DataError, match="a score is NaN or infinite"):
        score_lists([[1e30]], [[1e30]], [0, 1], [0])
    with pytest.raises(DataError, match="same number of columns"):
        score_lists([[1.0, 2.0]], [[1.0]], [0, 1], [0])
    with pytest.raises(DataError, match="candidate items hold code 5"):
        score_lists([[1.0]], [[1.0]], [0, 1], [5])
    with pytest.raises(DataError, match="one row for each"):
        item_columns([1.0, 2.0])
    with pytest.raises(DataError, match="allowed has shape"):
        item_columns([[1.0]], allowed=[True, False])
