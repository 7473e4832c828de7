"""Filtering and splitting: arrays in, row indices out; and what Ratings make of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import ConfigError, DataError, Ratings
from dmrank.data.rows import canonical_order, group_rows, random_parts
from tests.strategies import ratings as any_ratings

codes = st.lists(st.integers(0, 5), max_size=40).map(
    lambda values: np.array(values, dtype=np.int32)
)


@given(codes)
def test_grouping_is_a_stable_sort(values) -> None:
    rows, pointer = group_rows(values, size=6)
    assert rows.tolist() == np.argsort(values, kind="stable").tolist()
    assert np.diff(pointer).tolist() == np.bincount(values, minlength=6).tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_order_is_by_user_and_item_and_keeps_the_latest(rows) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    order, pointer = canonical_order(table[:, 0], table[:, 1], 4, table[:, 2])
    latest = {}
    for row, (user, item, time) in enumerate(rows):
        if (user, item) not in latest or time >= rows[latest[user, item]][2]:
            latest[user, item] = row
    assert order.tolist() == [latest[pair] for pair in sorted(latest)]
    assert np.diff(pointer).tolist() == [sum(u == user for u, _ in latest) for user in range(4)]


def test_users_with_many_ratings_are_sorted_too() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 3, 1_000), rng.integers(0, 100, 1_000)
    order, _ = canonical_order(users, items, 3)
    expected = {
        (user, item): row for row, (user, item) in enumerate(zip(users, items, strict=True))
    }
    assert order.tolist() == [expected[pair] for pair in sorted(expected)]


@given(any_ratings(max_rows=40), st.integers(1, 3))
def test_k_core_is_a_fixed_point_and_the_largest(ratings: Ratings, k: int) -> None:
    try:
        core = ratings.k_core(k)
    except DataError:
        return
    assert (np.diff(core.user_pointer) >= k).all()
    assert (np.bincount(core.item_codes) >= k).all()
    assert core.k_core(k) == core
    # The largest: rows left out cannot be part of any subset with the property.
    assert _peel_one_by_one(ratings, k) == len(core)


def _peel_one_by_one(ratings: Ratings, k: int) -> int:
    pairs = set(zip(ratings.user_codes.tolist(), ratings.item_codes.tolist(), strict=True))
    while True:
        users = [user for user, _ in pairs]
        items = [item for _, item in pairs]
        weak = {p for p in pairs if users.count(p[0]) < k or items.count(p[1]) < k}
        if not weak:
            return len(pairs)
        pairs -= {next(iter(weak))}


def test_k_core_that_leaves_nothing_is_an_error(hotels: Ratings) -> None:
    with pytest.raises(DataError, match="the 1000-core leaves no ratings: choose a smaller k"):
        hotels.k_core(1000)
    with pytest.raises(ConfigError, match="negative"):
        hotels.k_core(-1)


@given(any_ratings(timestamps=True), st.sampled_from(["random", "time", "time-per-user"]))
def test_a_split_partitions_the_rows(ratings: Ratings, by) -> None:
    split = ratings.split(0.6, 0.2, 0.2, by=by, seed=3)
    parts = [split.train, split.validation, split.test]
    pairs = [
        pair
        for part in parts
        for pair in zip(part.user_codes.tolist(), part.item_codes.tolist(), strict=True)
    ]
    assert sorted(pairs) == list(
        zip(ratings.user_codes.tolist(), ratings.item_codes.tolist(), strict=True)
    )
    assert all(part.users == ratings.users and part.items == ratings.items for part in parts)


def test_random_split_has_the_shares_and_follows_the_seed(hotels: Ratings) -> None:
    split = hotels.split(seed=1)
    assert [len(split.train), len(split.validation), len(split.test)] == [42_000, 9_000, 9_000]
    assert split.train == hotels.split(seed=1).train
    assert split.train != hotels.split(seed=2).train


@given(st.integers(0, 60), st.sampled_from([(1, 0, 0), (0.5, 0, 0.5), (0.34, 0.33, 0.33)]))
def test_sizes_of_a_random_split_are_the_shares_rounded(rows: int, shares) -> None:
    parts = random_parts(rows, *shares, seed=5)
    first, second = round(shares[0] * rows), round((shares[0] + shares[1]) * rows)
    assert [len(part) for part in parts] == [first, second - first, rows - second]
    assert sorted(np.concatenate(parts).tolist()) == list(range(rows))


def _with_times(users: str, times: list[int]) -> Ratings:
    items = [f"i{row}" for row in range(len(users))]
    return Ratings.from_arrays(
        list(users), items, np.ones((len(users), 1)), aspects=["r"], timestamps=times
    )


def test_time_split_tests_on_the_newest_of_all() -> None:
    split = _with_times("aabb", [4, 1, 3, 2]).split(0.5, 0.25, 0.25, by="time")
    assert split.train.timestamps is not None
    assert sorted(split.train.timestamps.tolist()) == [1, 2]
    assert split.validation.timestamps.tolist() == [3]
    assert split.test.timestamps.tolist() == [4]


def test_time_per_user_split_tests_on_the_newest_of_each() -> None:
    split = _with_times("aaaabc", [4, 1, 3, 2, 9, 0]).split(0.5, 0.25, 0.25, by="time-per-user")
    assert split.test.timestamps.tolist() == [4]
    assert split.validation.timestamps.tolist() == [3, 9, 0]
    assert sorted(split.train.timestamps.tolist()) == [1, 2]


def test_cold_users_and_items_are_kept_and_flagged() -> None:
    split = _with_times("aab", [1, 2, 3]).split(0.67, 0, 0.33, by="time")
    assert split.cold_users.tolist() == [False, True]
    assert split.cold_items.tolist() == [False, False, True]
    assert split.cold_rows(split.test).tolist() == [True]
    assert "1 outside train with a cold user or item" in repr(split)


def test_time_split_needs_timestamps(hotels: Ratings) -> None:
    with pytest.raises(DataError, match="needs timestamps"):
        hotels.split(by="time")


def test_an_unknown_way_to_split_is_an_error(hotels: Ratings) -> None:
    with pytest.raises(ConfigError, match="did you mean 'random'"):
        hotels.split(by="randon")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shares", [(0.7, 0.2, 0.2), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5), (0.0, 0.5, 0.5)]
)
def test_shares_that_do_not_add_up_are_refused(hotels: Ratings, shares) -> None:
    with pytest.raises(ConfigError, match="share"):
        hotels.split(*shares)
