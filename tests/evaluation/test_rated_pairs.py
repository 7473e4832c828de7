"""Pairs of items that a user rated in test."""

import numpy as np

from dmrank import Ratings, Split
from dmrank.evaluation import rated_pairs


def _split(test_rows: list[tuple[str, str]]) -> Split:
    rows = [("a", "x"), ("b", "y"), ("b", "z"), *test_rows]
    ratings = Ratings.from_arrays(
        [user for user, _ in rows],
        [item for _, item in rows],
        np.arange(2 * len(rows)).reshape(-1, 2),
        aspects=["p", "q"],
    )
    in_test = [
        (ratings.users[u], ratings.items[i]) in test_rows
        for u, i in zip(ratings.user_codes, ratings.item_codes, strict=True)
    ]
    train, test = np.flatnonzero(~np.array(in_test)), np.flatnonzero(in_test)
    return Split(ratings.select(train), ratings.select(train[:0]), ratings.select(test))


def test_all_pairs_of_one_user_and_none_across_users() -> None:
    pairs = rated_pairs(_split([("a", "y"), ("a", "z"), ("b", "x")]))
    assert pairs.pointer.tolist() == [0, 1]
    assert pairs.test.user_codes[pairs.first].tolist() == [0]
    assert pairs.test.item_codes[pairs.first].tolist() == [1]
    assert pairs.test.item_codes[pairs.second].tolist() == [2]


def test_cold_users_and_items_are_left_out() -> None:
    pairs = rated_pairs(_split([("c", "x"), ("c", "y"), ("a", "new"), ("a", "y")]))
    assert len(pairs.first) == 0


def test_a_user_has_at_most_so_many_pairs(hotels: Ratings) -> None:
    counts = np.diff(rated_pairs(hotels.split(), most_per_user=7).pointer)
    assert counts.max() == 7
    assert counts.min() >= 1


def test_the_ratings_themselves_are_always_right(hotels: Ratings) -> None:
    pairs = rated_pairs(hotels.split())
    assert pairs.accuracy_of(pairs.test.values).pooled == 1
    assert pairs.accuracy_of(-pairs.test.values).pooled == 0
    assert pairs.accuracy_of(np.zeros_like(pairs.test.values)).pooled == 0
