"""Ranks are the places in a full sort in which every tie counts against the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.ranking import ranks_of_items, ranks_of_items_scores
from dmrank.support.errors import DataError
from tests.ranking.questions import ITEMS, Lists, lists, model

if TYPE_CHECKING:
    from collections.abc import Callable

NONE_EXCLUDED = ([0, 0], [])


def naive_ranks(
    scores: np.ndarray, tests: Lists, gains: np.ndarray, excluded: Lists, mask: np.ndarray
) -> np.ndarray:
    """Sort each user's candidates: by score, then those not in test, then by gain and code."""
    ranks = np.zeros(len(tests.items), int)
    for user, row in enumerate(scores):
        gain_of = dict(
            zip(tests.of(user), gains[slice(*tests.pointer[user : user + 2])], strict=True)
        )
        unknown = [item for item, gain in gain_of.items() if np.isnan(gain)]
        left_out = np.concatenate([excluded.of(user), unknown])
        candidates = np.setdiff1d(np.flatnonzero(mask), left_out).tolist()
        candidates.sort(key=lambda item: (-row[item], item in gain_of, gain_of.get(item, 0), item))
        place = {item: rank for rank, item in enumerate(candidates, start=1)}
        for at in range(*tests.pointer[user : user + 2]):
            ranks[at] = place.get(tests.items[at], 0)
    return ranks


@given(
    seed=st.integers(0, 10_000),
    n_items=ITEMS,
    factors=st.integers(1, 9),
    candidate_share=st.sampled_from([0.5, 1.0]),
)
def test_agrees_with_a_full_sort(
    seed: int, n_items: int, factors: int, candidate_share: float
) -> None:
    rng = np.random.default_rng(seed)
    vectors = model(seed, 4, n_items, factors)
    tests = lists(seed, 4, n_items, longest=12)
    excluded = lists(seed + 1, 4, n_items, longest=12)
    gains = rng.choice([0.0, 1.0, 2.0, np.nan], len(tests.items))
    mask = rng.random(n_items) < candidate_share
    expected = naive_ranks(vectors.scores, tests, gains, excluded, mask)
    asked = (*tests, gains, *excluded, mask)
    np.testing.assert_array_equal(ranks_of_items(*vectors, *asked), expected)
    np.testing.assert_array_equal(ranks_of_items_scores(vectors.scores, *asked), expected)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_agrees_with_a_full_sort_over_many_users_and_chunks_of_items(threads: int) -> None:
    rng = np.random.default_rng(3)
    users = rng.normal(size=(70, 10)).astype(np.float32)
    items = rng.normal(size=(1700, 10)).astype(np.float32)
    items[900:1000] = items[:100]  # exact ties, in another chunk
    tests = lists(3, 70, 1700, longest=6)
    excluded = lists(4, 70, 1700, longest=30)
    gains = rng.integers(1, 6, len(tests.items)).astype(float)
    mask = rng.random(1700) < 0.9
    scores = np.zeros((70, 1700), np.float32)
    for k in range(10):
        scores += users[:, [k]] * items[:, k]
    ranks = ranks_of_items(users, items, *tests, gains, *excluded, mask, threads=threads)
    np.testing.assert_array_equal(ranks, naive_ranks(scores, tests, gains, excluded, mask))


def by_vectors(scores: list[float], *asked: object) -> list[int]:
    return ranks_of_items([[1.0]], np.array(scores)[:, None], *asked).tolist()


def by_scores(scores: list[float], *asked: object) -> list[int]:
    return ranks_of_items_scores([scores], *asked).tolist()


either = pytest.mark.parametrize("ranks", [by_vectors, by_scores])


@either
def test_a_constant_score_gets_the_worst_ranks(ranks: Callable[..., list[int]]) -> None:
    # Five candidates tie: first the three that are not in test, then the lower gain.
    found = ranks([1.0] * 5, [0, 2], [0, 1], [5.0, 3.0], *NONE_EXCLUDED, [True] * 5)
    assert found == [5, 4]


@either
def test_an_item_without_gain_is_neither_counted_nor_ranked(
    ranks: Callable[..., list[int]],
) -> None:
    found = ranks([9.0, 5.0, 1.0], [0, 2], [0, 1], [np.nan, 3.0], *NONE_EXCLUDED, [True] * 3)
    assert found == [0, 1]


@either
def test_excluded_items_and_no_candidates_are_not_counted(
    ranks: Callable[..., list[int]],
) -> None:
    mask = [True, True, False, True]
    assert ranks([9.0, 8.0, 7.0, 1.0], [0, 1], [3], [5.0], [0, 1], [0], mask) == [2]


@either
def test_a_test_item_that_is_no_candidate_has_no_rank(ranks: Callable[..., list[int]]) -> None:
    mask = [True, False, True]
    assert ranks([3.0, 2.0, 1.0], [0, 2], [0, 1], [5.0, 5.0], [0, 1], [0], mask) == [0, 0]


@either
def test_equal_scores_and_gains_take_different_places(ranks: Callable[..., list[int]]) -> None:
    found = ranks([1.0, 1.0, 2.0], [0, 2], [0, 1], [4.0, 4.0], *NONE_EXCLUDED, [True] * 3)
    assert found == [2, 3]


@either
def test_a_score_that_is_nan_is_refused(ranks: Callable[..., list[int]]) -> None:
    with pytest.raises(DataError, match="a score is NaN"):
        ranks([np.nan, 1.0], [0, 1], [1], [5.0], *NONE_EXCLUDED, [True] * 2)


def test_minus_infinity_of_all_items_is_a_tie() -> None:
    found = by_scores([-np.inf] * 3, [0, 1], [0], [5.0], [0, 1], [2], [True] * 3)
    assert found == [2]


def test_users_without_test_items_and_no_users() -> None:
    assert (
        len(
            ranks_of_items(
                np.ones((2, 1)), np.ones((3, 1)), [0, 0, 0], [], [], [0, 0, 0], [], [True] * 3
            )
        )
        == 0
    )
    assert (
        len(ranks_of_items(np.ones((0, 1)), np.ones((3, 1)), [0], [], [], [0], [], [True] * 3)) == 0
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"test_gains": [1.0, 2.0]}, "2 gains of 1 test items"),
        ({"candidate_mask": [True]}, "candidate_mask has shape"),
        ({"test_items": [2]}, "test items hold code 2"),
        ({"excluded_ptr": [0, 3]}, "excluded pointer does not ascend"),
    ],
)
def test_bad_arguments_are_refused(changed: dict[str, object], message: str) -> None:
    asked = {
        "test_ptr": [0, 1],
        "test_items": [0],
        "test_gains": [1.0],
        "excluded_ptr": [0, 1],
        "excluded_items": [1],
        "candidate_mask": [True, True],
    }
    with pytest.raises(DataError, match=message):
        ranks_of_items_scores([[1.0, 2.0]], **(asked | changed))
    with pytest.raises(DataError, match=message):
        ranks_of_items([[1.0]], [[1.0], [2.0]], **(asked | changed))
