"""Cooccurrence: sparse weights of items that the same users rated."""

import numpy as np
import pytest

from dmrank import Cooccurrence, Ratings, make_ratings
from dmrank.training.least_squares.spread_items import cooccurrence


def dense(ratings: Ratings, exponent: float):
    """Return B from its definition."""
    X = np.zeros((len(ratings.users), len(ratings.items)))
    X[ratings.user_codes, ratings.item_codes] = 1
    by_user, by_item = np.maximum(X.sum(axis=1), 1), np.maximum(X.sum(axis=0), 1)
    B = (X / by_user[:, None]).T @ X
    B *= np.outer(by_item ** (-2 * exponent), by_item**-exponent)
    np.fill_diagonal(B, 0)
    return B


def as_dense(weights, items: int):
    B = np.zeros((items, items))
    rows = np.repeat(np.arange(items), np.diff(weights.pointer))
    B[rows, weights.items] = weights.values
    return B


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(120, 40, 1_500, seed=3).ratings


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5])
def test_weights_are_those_of_the_definition(ratings: Ratings, exponent: float) -> None:
    pointer, items = ratings.user_pointer, ratings.item_codes
    found = cooccurrence(pointer, items, 40, exponent=exponent, neighbours=39, threads=2)
    np.testing.assert_allclose(as_dense(found, 40), dense(ratings, exponent), rtol=1e-5)


def test_the_largest_weights_of_each_item_are_kept(ratings: Ratings) -> None:
    pointer, items = ratings.user_pointer, ratings.item_codes
    found = cooccurrence(pointer, items, 40, exponent=0.3, neighbours=5, threads=1)
    kept, whole = as_dense(found, 40), dense(ratings, 0.3)
    assert ((kept > 0).sum(axis=0) <= 5).all()
    for column in range(40):
        fifth = np.sort(whole[:, column])[-5]
        assert (kept[whole[:, column] > fifth * 1.00001, column] > 0).all()


def test_threads_change_no_bit(ratings: Ratings) -> None:
    pointer, items = ratings.user_pointer, ratings.item_codes
    one, many = (
        cooccurrence(pointer, items, 40, exponent=0.3, neighbours=7, threads=threads)
        for threads in (1, 4)
    )
    for first, second in zip(one, many, strict=True):
        np.testing.assert_array_equal(first, second)


def test_scores_add_up_what_rated_items_say(ratings: Ratings) -> None:
    model = Cooccurrence(neighbours=40).fit(ratings)
    user = ratings.users[5]
    seen = ratings.item_codes[ratings.user_pointer[5] : ratings.user_pointer[6]]
    expected = dense(ratings, 0.3)[seen].sum(axis=0)
    found = model.predict(user, list(ratings.items), raw=True)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
