"""NDCG by hand, by a naive implementation, and by its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.metrics import NDCG
from dmrank.support.errors import ConfigError, DataError
from tests.metrics.rankings import Rankings, flat, rankings

DEPTHS = st.integers(1, 35)
GAINS = st.sampled_from(["linear", "exponential"])


def naive_ndcg(ranks: np.ndarray, gains: np.ndarray, metric: NDCG) -> float:
    if len(ranks) == 0:
        return np.nan
    worth = gains if metric.gains == "linear" else 2.0**gains - 1
    dcg = sum(g / np.log2(r + 1) for r, g in zip(ranks, worth, strict=True) if r <= metric.k)
    best = sorted(worth, reverse=True)[: metric.k]
    ideal = sum(g / np.log2(place + 2) for place, g in enumerate(best))
    return dcg / ideal if ideal > 0 else 0.0


def test_by_hand() -> None:
    # DCG = 3/log2(2) + 5/log2(4) = 5.5; IDCG = 5 + 3/log2(3)
    users = flat([([1, 3], [3, 5])])
    assert NDCG(10)(*users) == pytest.approx([5.5 / (5 + 3 / np.log2(3))])
    # The item on place 3 is cut off, and the ideal keeps its best two.
    assert NDCG(2)(*users) == pytest.approx([3 / (5 + 3 / np.log2(3))])
    # Gains 2^3 - 1 = 7 and 2^5 - 1 = 31.
    assert NDCG(10, "exponential")(*users) == pytest.approx([22.5 / (31 + 7 / np.log2(3))])


@given(rankings(), DEPTHS, GAINS)
def test_agrees_with_a_naive_implementation(users: Rankings, k: int, gains: str) -> None:
    metric = NDCG(k, gains)
    expected = [naive_ndcg(*user, metric) for user in users.users()]
    np.testing.assert_allclose(metric(*users), expected, rtol=1e-12)


@given(rankings(), DEPTHS, GAINS)
def test_lies_between_0_and_1(users: Rankings, k: int, gains: str) -> None:
    values = NDCG(k, gains)(*users)
    values = values[~np.isnan(values)]
    assert ((values >= 0) & (values <= 1 + 1e-12)).all()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=10), DEPTHS, GAINS)
def test_the_best_order_on_the_first_places_is_1(gains: list[int], k: int, kind: str) -> None:
    best = sorted(gains, reverse=True)
    ranks = list(range(1, len(best) + 1))
    assert NDCG(k, kind)(*flat([(ranks, best)])) == pytest.approx([1])


@given(rankings(), DEPTHS, st.randoms(use_true_random=False))
def test_the_order_of_a_users_items_does_not_matter(
    users: Rankings, k: int, random: st.DataObject
) -> None:
    shuffled = []
    for ranks, gains in users.users():
        items = list(zip(ranks, gains, strict=True))
        random.shuffle(items)
        shuffled.append(([rank for rank, _ in items], [gain for _, gain in items]))
    np.testing.assert_allclose(NDCG(k)(*flat(shuffled)), NDCG(k)(*users), rtol=1e-12)


def test_an_item_beyond_the_depth_is_worth_nothing() -> None:
    assert NDCG(10)(*flat([([11], [5])])) == [0]


def test_a_user_without_test_item_has_no_value() -> None:
    values = NDCG(10)(*flat([([], []), ([1], [5]), ([], [])]))
    np.testing.assert_array_equal(values, [np.nan, 1, np.nan])


def test_an_unranked_item_takes_no_part() -> None:
    values = NDCG(10)(*flat([([1, 0], [4, np.nan]), ([0], [np.nan])]))
    np.testing.assert_array_equal(values, [1, np.nan])


def test_a_user_whose_items_are_worth_nothing_gets_0() -> None:
    assert NDCG(10)(*flat([([1], [0])])) == [0]


def test_a_negative_gain_is_refused() -> None:
    with pytest.raises(DataError, match="gain below 0"):
        NDCG(10)(*flat([([1], [-1])]))


@pytest.mark.parametrize("arguments", [{"k": 0}, {"k": -3}, {"k": 10, "gains": "cubic"}])
def test_bad_parameters_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="give"):
        NDCG(**arguments)


def test_arrays_of_unlike_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="one of each per item"):
        NDCG(10)([1, 2], [5.0], [0, 2])
