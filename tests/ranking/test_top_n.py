"""The best items of every user are those of a full sort, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.ranking import TopN, top_n, top_n_scores
from dmrank.support.errors import ConfigError, DataError
from tests.ranking.questions import ITEMS, Lists, lists, model

NOTHING_SEEN = ([0, 0], [])


def naive_top_n(scores: np.ndarray, n: int, seen: Lists, allowed: np.ndarray) -> TopN:
    best = TopN(np.full((len(scores), n), -1), np.full((len(scores), n), -np.inf))
    for user, row in enumerate(scores):
        wanted = np.setdiff1d(np.flatnonzero(allowed), seen.of(user))
        ranked = sorted(wanted, key=lambda item: (-row[item], item))[:n]
        best.items[user, : len(ranked)] = ranked
        best.scores[user, : len(ranked)] = row[ranked]
    return best


@given(
    seed=st.integers(0, 10_000),
    n_items=ITEMS,
    factors=st.integers(1, 9),
    n=st.integers(1, 40),
    allowed_share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_agrees_with_a_full_sort(
    seed: int, n_items: int, factors: int, n: int, allowed_share: float
) -> None:
    vectors = model(seed, 5, n_items, factors)
    seen = lists(seed, 5, n_items, longest=20)
    allowed = np.random.default_rng(seed).random(n_items) < allowed_share
    expected = naive_top_n(vectors.scores, n, seen, allowed)
    for found in (
        top_n(*vectors, n, *seen, allowed),
        top_n_scores(vectors.scores, n, *seen, allowed),
    ):
        np.testing.assert_array_equal(found.items, expected.items)
        np.testing.assert_array_equal(found.scores, expected.scores)


def test_agrees_with_a_full_sort_over_many_chunks_of_items() -> None:
    rng = np.random.default_rng(0)
    users = rng.normal(size=(70, 10)).astype(np.float32)
    items = rng.normal(size=(3000, 10)).astype(np.float32)
    seen = lists(0, 70, 3000, longest=60)
    assert_is_a_full_sort(users, items, 25, seen)


def assert_is_a_full_sort(users: np.ndarray, items: np.ndarray, n: int, seen: Lists) -> None:
    found = top_n(users, items, n, *seen)
    # The same sum, factor by factor in float32.
    scores = np.zeros((len(users), len(items)), np.float32)
    for k in range(users.shape[1]):
        scores += users[:, [k]] * items[:, k]
    expected = naive_top_n(scores, n, seen, np.ones(len(items), bool))
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)


@given(
    seed=st.integers(0, 10_000),
    spread=st.sampled_from([0.0, 0.3, 3.0]),
    kinds=st.sampled_from([3, 40, 4_000]),
    unit=st.sampled_from([1e-42, 1e-30, 1.0, 1e15]),
)
def test_items_that_are_too_short_are_left_out_and_no_others(
    seed: int, spread: float, kinds: int, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    users = np.vstack([rng.normal(size=(4, 6)), np.zeros((1, 6))]).astype(np.float32)
    directions = np.vstack([rng.normal(size=(kinds - 3, 6)), users[:3]])
    # Many of the same item, also where another chunk begins, and those that users lie along.
    chosen = directions[rng.integers(len(directions), size=2_000)]
    chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)
    lengths = np.round(np.exp(spread * rng.normal(size=2_000)), 1) * unit
    items = (lengths[:, None] * chosen).astype(np.float32)
    assert_is_a_full_sort(users, items, 7, lists(seed, 5, 2_000, longest=30))


def test_equal_scores_are_ordered_by_item_code() -> None:
    best = top_n(np.ones((1, 2)), np.ones((600, 2)), 5, *NOTHING_SEEN)
    assert best.items.tolist() == [[0, 1, 2, 3, 4]]


def test_a_list_without_enough_items_is_filled_up() -> None:
    best = top_n([[1.0]], [[3.0], [4.0]], 4, [0, 1], [0])
    assert best.items.tolist() == [[1, -1, -1, -1]]
    assert best.scores.tolist() == [[4, -np.inf, -np.inf, -np.inf]]
    assert best.items.dtype == np.int32
    assert best.scores.dtype == np.float32


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_neither_threads_nor_company_change_a_bit(threads: int) -> None:
    rng = np.random.default_rng(1)
    users, items = rng.normal(size=(300, 7)), rng.normal(size=(900, 7))
    seen = lists(1, 300, 900, longest=10)
    together = top_n(users, items, 10, *seen, threads=threads)
    alone = top_n(users[[217]], items, 10, [0, len(seen.of(217))], seen.of(217))
    np.testing.assert_array_equal(together.items[217], alone.items[0])
    np.testing.assert_array_equal(together.scores[217], alone.scores[0])
    one_thread = top_n(users, items, 10, *seen, threads=1)
    np.testing.assert_array_equal(together.items, one_thread.items)
    np.testing.assert_array_equal(together.scores, one_thread.scores)


def test_the_memory_order_of_the_item_vectors_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    users, items = rng.normal(size=(9, 6)), rng.normal(size=(700, 6)).astype(np.float32)
    pointer = np.zeros(10, int)
    by_row = top_n(users, items, 10, pointer, [])
    by_column = top_n(users, np.asfortranarray(items), 10, pointer, [])
    np.testing.assert_array_equal(by_row.items, by_column.items)
    np.testing.assert_array_equal(by_row.scores, by_column.scores)


def test_scores_keep_their_precision() -> None:
    close = np.array([[1.0, 1.0 + 1e-12]])
    assert top_n_scores(close, 1, *NOTHING_SEEN).items.tolist() == [[1]]


def test_a_score_of_minus_infinity_is_never_returned() -> None:
    best = top_n_scores([[-np.inf, -5.0]], 2, *NOTHING_SEEN)
    assert best.items.tolist() == [[1, -1]]


def test_no_users_and_no_items() -> None:
    assert top_n(np.empty((0, 3)), np.ones((4, 3)), 2, [0], []).items.shape == (0, 2)
    assert top_n(np.ones((1, 3)), np.empty((0, 3)), 2, *NOTHING_SEEN).items.tolist() == [[-1, -1]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e38, 1e200])
def test_scores_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="a score is NaN"):
        top_n([[bad, 1.0]], [[10.0, 1.0]], 1, *NOTHING_SEEN)
    with pytest.raises(DataError, match="a score is NaN"):
        top_n_scores([[np.nan, 1.0]], 1, *NOTHING_SEEN)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ConfigError, match="n=0"):
        top_n([[1.0]], [[1.0]], 0, *NOTHING_SEEN)
    with pytest.raises(ConfigError, match="threads=0"):
        top_n([[1.0]], [[1.0]], 1, *NOTHING_SEEN, threads=0)
    with pytest.raises(DataError, match="same number of columns"):
        top_n([[1.0, 2.0]], [[1.0]], 1, *NOTHING_SEEN)
    with pytest.raises(DataError, match="users by items"):
        top_n_scores([1.0], 1, *NOTHING_SEEN)
    with pytest.raises(DataError, match="allowed has shape"):
        top_n([[1.0]], [[1.0]], 1, *NOTHING_SEEN, allowed=[True, True])


@pytest.mark.parametrize(
    ("pointer", "items", "message"),
    [
        ([0], [], "give 2"),
        ([0, 2], [0], "does not ascend"),
        ([-1, 0], [0], "does not ascend"),
        ([0, 1], [3], "code 3"),
        ([0, 1], [-1], "code -1"),
        ([0, 2], [1, 0], "do not ascend"),
        ([0, 2], [1, 1], "do not ascend"),
    ],
)
def test_bad_lists_are_refused(pointer: list[int], items: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        top_n([[1.0]], [[1.0], [2.0], [3.0]], 1, pointer, items)
