"""Pairs of items with an observed order: two rated ones, or a rated one and any other."""

import time

import numpy as np
import pytest

from dmrank import ConfigError, DataError, ItemMean, Popularity, Ratings, Split, make_ratings
from dmrank.evaluation import any_pairs, rated_pairs
from dmrank.evaluation.opponents import Opponents
from dmrank.metrics import pair_accuracy
from tests.evaluation.problems import given_scores, make_split

NAN = float("nan")


@pytest.fixture(scope="module")
def split() -> Split:
    return make_ratings(80, 25, 900, missing=0.2, seed=3).ratings.split(seed=1)


def true_scores(split: Split) -> np.ndarray:
    """Return what the test users said, 0 for what they did not rate."""
    test = split.test
    scores = np.zeros((len(test.users), len(test.items), len(test.aspects)))
    scores[test.user_codes, test.item_codes] = np.nan_to_num(test.values)
    return scores


# Two items that the user rated in test.


def test_all_pairs_of_one_user_and_none_across_users() -> None:
    pairs = rated_pairs(make_split({("a", "y"): (5, 1), ("a", "z"): (2, 1), ("b", "x"): (3, 3)}))
    assert pairs.pointer.tolist() == [0, 1]
    assert pairs.user_codes.tolist() == pairs.users.tolist() == [0]
    items = pairs.train.items
    assert (items[pairs.first[0]], items[pairs.second[0]]) == ("y", "z")
    assert pairs.observed.tolist() == [[3, 0]]


def test_an_aspect_counts_if_both_rated_items_have_it() -> None:
    pairs = rated_pairs(make_split({("a", "y"): (5, NAN), ("a", "z"): (2, 1)}))
    np.testing.assert_array_equal(pairs.observed, [[3, NAN]])


def test_cold_users_and_items_are_left_out() -> None:
    cold = {("c", "x"): (1, 1), ("c", "y"): (2, 2), ("a", "new"): (3, 3), ("a", "y"): (4, 4)}
    assert len(rated_pairs(make_split(cold))) == 0
    second = any_pairs(make_split(cold), pairs=50)
    assert {second.train.users[u] for u in second.users} == {"a"}
    assert {second.train.items[i] for i in second.second} == {"z"}


def test_a_user_has_at_most_so_many_pairs(hotels: Ratings) -> None:
    counts = np.diff(rated_pairs(hotels.split(), most_per_user=7).pointer)
    assert counts.max() == 7
    assert counts.min() >= 1


# A test item against any item that was not rated before.


def test_the_second_item_was_not_rated_before(split: Split) -> None:
    pairs = any_pairs(split, pairs=3_000, seed=2)
    rows = [set(zip(p.user_codes, p.item_codes, strict=True)) for p in (split.train, split.test)]
    before = rows[0] | set(
        zip(split.validation.user_codes, split.validation.item_codes, strict=True)
    )
    warm = set(split.train.item_codes)
    for user, first, second in zip(pairs.users, pairs.first, pairs.second, strict=True):
        assert (user, first) in rows[1]
        assert (user, second) not in before
        assert second in warm
        assert first != second


def test_unrated_is_0_and_a_second_test_item_keeps_its_rating() -> None:
    split = make_split({("a", "y"): (5, NAN), ("a", "z"): (2, 1)})
    pairs = any_pairs(split, pairs=30)
    by_items = {
        (pairs.train.items[i], pairs.train.items[j]): observed
        for i, j, observed in zip(pairs.first, pairs.second, pairs.observed, strict=True)
    }
    # The user has rated w and x in training: only the other test item is left.
    assert set(by_items) == {("y", "z"), ("z", "y")}
    np.testing.assert_array_equal(by_items["y", "z"], [3, NAN])
    alone = any_pairs(make_split({("a", "y"): (5, NAN)}), pairs=4)
    np.testing.assert_array_equal(alone.observed, np.tile([5, NAN], (4, 1)))


def test_an_unrated_item_is_below_the_lowest_rating_of_any_scale() -> None:
    rows = {("a", "x"): 0, ("b", "y"): 20, ("b", "z"): 4, ("a", "y"): 0}
    ratings = Ratings.from_arrays(
        [user for user, _ in rows],
        [item for _, item in rows],
        np.array(list(rows.values()), dtype=float)[:, None],
        aspects=["p"],
        scale=(0, 20),
    )
    train, test = np.array([0, 2, 3]), np.array([1])
    split = Split(ratings.select(train), ratings.select(test[:0]), ratings.select(test))
    assert any_pairs(split, pairs=1).observed.tolist() == [[1]]


def test_there_are_as_many_pairs_as_asked_for_grouped_by_user(split: Split) -> None:
    pairs = any_pairs(split, pairs=5_000)
    assert len(pairs) == 5_000
    assert (np.diff(pairs.users) >= 0).all()
    np.testing.assert_array_equal(np.repeat(pairs.user_codes, np.diff(pairs.pointer)), pairs.users)
    again, other = any_pairs(split, pairs=5_000), any_pairs(split, pairs=5_000, seed=1)
    np.testing.assert_array_equal(pairs.second, again.second)
    assert (pairs.second != other.second).any()


def test_second_items_are_equally_likely() -> None:
    train = {("b", f"i{n:02}"): (1, 1) for n in range(20)}
    train |= {("a", f"i{n:02}"): (1, 1) for n in (0, 3, 4, 5, 19)}
    split = make_split({("a", "i10"): (5, 5)}, {("a", "i07"): (2, 2)}, {**train})
    pairs = any_pairs(split, pairs=26_000)
    counts = np.bincount(pairs.second, minlength=20)
    assert (counts[[0, 3, 4, 5, 7, 10, 19]] == 0).all()
    free = np.delete(counts, [0, 3, 4, 5, 7, 10, 19])
    assert np.abs(free - 2_000).max() < 5 * np.sqrt(2_000)


def test_the_number_of_free_items_is_that_of_a_set(split: Split) -> None:
    warm = set(split.train.item_codes)
    for user, free in enumerate(Opponents(split).free):
        rated = set()
        for part in (split.train, split.validation):
            rated |= set(part.item_codes[part.user_codes == user])
        assert free == len(warm - rated)


def test_without_an_opponent_there_is_no_pair() -> None:
    everything = {("a", item): (1, 1) for item in "xyz"} | {("b", "v"): (1, 1)}
    split = make_split({("a", "v"): (2, 2)}, None, everything)
    assert len(any_pairs(split, pairs=10)) == 0
    with pytest.raises(ConfigError, match="at least one"):
        any_pairs(split, pairs=0)


def test_many_pairs_are_drawn_at_once(hotels: Ratings) -> None:
    split = hotels.split()
    started = time.perf_counter()
    assert len(any_pairs(split)) == 150_000
    assert time.perf_counter() - started < 3


# What a model makes of them.


@pytest.mark.parametrize("draw", [rated_pairs, lambda split: any_pairs(split, pairs=2_000)])
def test_the_ratings_themselves_are_always_right(split: Split, draw) -> None:
    pairs = draw(split)
    truth = true_scores(split)
    assert pairs.accuracy(given_scores(split, truth)).pooled == 1
    assert pairs.accuracy(given_scores(split, -truth)).pooled == 0
    assert pairs.accuracy(given_scores(split, np.zeros_like(truth))).pooled == 0


def test_accuracy_is_that_of_predictions_by_id(split: Split) -> None:
    model, pairs = ItemMean().fit(split.train), rated_pairs(split)
    users = split.train.users.names(pairs.users).to_list()
    first, second = (
        model.predict(users, split.train.items.names(codes).to_list(), raw=True)
        for codes in (pairs.first, pairs.second)
    )
    np.testing.assert_allclose(pairs.predicted(model), first - second, atol=1e-5)
    wanted = pair_accuracy(pairs.observed, first - second, pairs.pointer)
    assert pairs.accuracy(model).pooled == wanted.pooled
    assert len(pairs.accuracy(model).per_user) == len(pairs.user_codes)


def test_blocks_change_nothing(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    model, pairs = ItemMean().fit(split.train), rated_pairs(split)
    whole = pairs.predicted(model)
    monkeypatch.setattr("dmrank.evaluation.order_pairs._BLOCK", 7)
    np.testing.assert_array_equal(pairs.predicted(model), whole)


def test_aspects_that_test_lacks_do_not_count() -> None:
    split = make_split({("a", "y"): (5, 1), ("a", "z"): (2, 3)})
    test = split.test
    only_q = Ratings.from_codes(
        test.users,
        test.items,
        test.user_codes,
        test.item_codes,
        test.values[:, 1:],
        aspects=["q"],
        scale=(1, 5),
    )
    pairs = rated_pairs(Split(split.train, split.validation, only_q))
    np.testing.assert_array_equal(pairs.observed, [[NAN, -2]])
    with pytest.raises(
        DataError, match="held-out ratings have the aspect 'p', which training lacks"
    ):
        rated_pairs(Split(only_q, only_q, test))


def test_a_model_of_other_ratings_is_refused(split: Split) -> None:
    pairs = rated_pairs(split)
    other = make_ratings(70, 20, 700, seed=5).ratings
    with pytest.raises(DataError, match="Popularity was fitted on other users or items"):
        pairs.accuracy(Popularity().fit(other))
    with pytest.raises(DataError, match="has seen test ratings"):
        pairs.accuracy(Popularity().fit(split.test))
    fewer = split.train
    renamed = Ratings.from_codes(
        fewer.users,
        fewer.items,
        fewer.user_codes,
        fewer.item_codes,
        fewer.values[:, :2],
        aspects=fewer.aspects[:2],
    )
    with pytest.raises(DataError, match="fitted on the aspects"):
        pairs.accuracy(Popularity().fit(renamed))
