"""The place of given items in a user's full ranking, ties counted against the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.ranking.lists import item_lists
from dmrank.ranking.scoring import (
    ITEMS_PER_CHUNK,
    USERS_PER_TASK,
    checked_scores,
    checked_vectors,
    dot,
    score_chunk,
)
from dmrank.support.arrays import AnyFloats, Bools, Floats, Int64s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dmrank.ranking.lists import ItemLists


class RankQuery(NamedTuple):
    """Where are these items in the rankings of some users? See `ranks_of_items`.

    Attributes
    ----------
    items, gains
        The items that are asked for, user by user, and what each is worth.
    excluded
        What is no candidate for each user.
    candidates
        True for the items that are candidates for every user not excluding them.
    """

    items: ItemLists
    gains: AnyFloats
    excluded: ItemLists
    candidates: Bools


def ranks_of_items(
    user_vectors: ArrayLike,
    item_vectors: ArrayLike,
    test_ptr: ArrayLike,
    test_items: ArrayLike,
    test_gains: ArrayLike,
    excluded_ptr: ArrayLike,
    excluded_items: ArrayLike,
    candidate_mask: ArrayLike,
    threads: int | None = None,
) -> Int64s:
    """Return the 1-based rank of each user's test items among all candidates of that user.

    Items are ranked by dot product. Of equal scores the lower gain comes first, so that a tie
    never helps; a candidate that is no test item comes before any test item of equal score.
    Memory does not grow with users times items.

    Parameters
    ----------
    user_vectors, item_vectors
        One row per user, one row per item.
    test_ptr, test_items, test_gains
        The test items of user u are ``test_items[test_ptr[u]:test_ptr[u + 1]]``, ascending, each
        once. One whose gain is NaN is neither a candidate nor ranked.
    excluded_ptr, excluded_items
        The items that are no candidates for user u, in the same layout.
    candidate_mask
        True for the items that are candidates for every user not excluding them.
    threads
        Number of threads; by default one per core.

    Returns
    -------
    numpy.ndarray
        One rank per test item; 0 for one that is not ranked: no candidate, or gain NaN.

    Examples
    --------
    Item 2 is second after item 1; item 0, the best, is excluded:

    >>> ranks_of_items([[1.0]], [[3.0], [2.0], [1.0]], test_ptr=[0, 1], test_items=[2],
    ...                test_gains=[5.0], excluded_ptr=[0, 1], excluded_items=[0],
    ...                candidate_mask=[True, True, True])
    array([2])
    """
    users, items = checked_vectors(user_vectors, item_vectors)
    tests = item_lists("test", test_ptr, test_items, len(users), len(items))
    excluded = item_lists("excluded", excluded_ptr, excluded_items, len(users), len(items))
    gains = _checked_gains(test_gains, tests)
    mask = _checked_mask(candidate_mask, len(items))
    columns = np.ascontiguousarray(items.T[:, mask])
    rows = np.ascontiguousarray(items)
    ranks = np.zeros(len(gains), np.int64)
    for_ranges(
        lambda start, stop: _ranks_by_vectors(
            start, stop, users, rows, columns, *tests, gains, *excluded, mask, ranks
        ),
        len(users),
        USERS_PER_TASK,
        threads,
    )
    return ranks


def ranks_of_items_scores(
    score_block: ArrayLike,
    test_ptr: ArrayLike,
    test_items: ArrayLike,
    test_gains: ArrayLike,
    excluded_ptr: ArrayLike,
    excluded_items: ArrayLike,
    candidate_mask: ArrayLike,
    threads: int | None = None,
) -> Int64s:
    """Return the same as `ranks_of_items`, from a block of scores.

    Parameters
    ----------
    score_block
        Scores, one row per user and one column per item.
    test_ptr, test_items, test_gains, excluded_ptr, excluded_items, candidate_mask, threads
        As for `ranks_of_items`.

    Examples
    --------
    A constant score gets the worst rank:

    >>> ranks_of_items_scores([[1.0, 1.0, 1.0]], test_ptr=[0, 1], test_items=[0], test_gains=[5.0],
    ...                       excluded_ptr=[0, 0], excluded_items=[], candidate_mask=[True] * 3)
    array([3])
    """
    scores = checked_scores(score_block)
    tests = item_lists("test", test_ptr, test_items, *scores.shape)
    excluded = item_lists("excluded", excluded_ptr, excluded_items, *scores.shape)
    gains = _checked_gains(test_gains, tests)
    mask = _checked_mask(candidate_mask, scores.shape[1])
    candidates = scores if mask.all() else scores.compress(mask, axis=1)
    ranks = np.zeros(len(gains), np.int64)
    for_ranges(
        lambda start, stop: _ranks_by_scores(
            start, stop, scores, candidates, *tests, gains, *excluded, mask, ranks
        ),
        len(scores),
        USERS_PER_TASK,
        threads,
    )
    return ranks


def _checked_gains(test_gains: ArrayLike, tests: ItemLists) -> Floats:
    gains = np.asarray(test_gains, dtype=np.float64)
    if gains.shape != tests.items.shape:
        raise DataError(f"{gains.size} gains of {tests.items.size} test items: give one each")
    return gains


def _checked_mask(candidate_mask: ArrayLike, n_items: int) -> Bools:
    mask = np.asarray(candidate_mask, dtype=np.bool_)
    if mask.shape != (n_items,):
        raise DataError(
            f"candidate_mask has shape {mask.shape}: give one truth value for {n_items} items"
        )
    return mask


@cached
def _ranks_by_vectors(
    start: int,
    stop: int,
    user_vectors: Any,
    item_rows: Any,
    candidate_columns: Any,
    test_ptr: Any,
    test_items: Any,
    test_gains: Any,
    excluded_ptr: Any,
    excluded_items: Any,
    candidate_mask: Any,
    ranks: Any,
) -> None:
    base = test_ptr[start]
    test_scores = np.empty(test_ptr[stop] - base, np.float32)
    for u in range(start, stop):
        for t in range(test_ptr[u], test_ptr[u + 1]):
            test_scores[t - base] = dot(user_vectors[u], item_rows[test_items[t]])

    at_least = np.zeros(len(test_scores), np.int64)
    buffer = np.empty(ITEMS_PER_CHUNK, np.float32)
    n_candidates = candidate_columns.shape[1]
    for first in range(0, n_candidates, ITEMS_PER_CHUNK):
        last = min(first + ITEMS_PER_CHUNK, n_candidates)
        scores = buffer[: last - first]
        for u in range(start, stop):
            tests = slice(test_ptr[u] - base, test_ptr[u + 1] - base)
            if tests.start < tests.stop:
                score_chunk(user_vectors[u], candidate_columns, first, scores)
                _count_at_least(scores, test_scores[tests], at_least[tests])

    for u in range(start, stop):
        tests = slice(test_ptr[u], test_ptr[u + 1])
        own = slice(tests.start - base, tests.stop - base)
        excluded = excluded_items[excluded_ptr[u] : excluded_ptr[u + 1]]
        excluded_scores = np.empty(len(excluded), np.float32)
        for x in range(len(excluded)):
            excluded_scores[x] = dot(user_vectors[u], item_rows[excluded[x]])
        _rank_user(
            test_items[tests],
            test_scores[own],
            test_gains[tests],
            at_least[own],
            excluded,
            excluded_scores,
            candidate_mask,
            ranks[tests],
        )


@cached
def _ranks_by_scores(
    start: int,
    stop: int,
    scores: Any,
    candidate_scores: Any,
    test_ptr: Any,
    test_items: Any,
    test_gains: Any,
    excluded_ptr: Any,
    excluded_items: Any,
    candidate_mask: Any,
    ranks: Any,
) -> None:
    for u in range(start, stop):
        tests = slice(test_ptr[u], test_ptr[u + 1])
        excluded = excluded_items[excluded_ptr[u] : excluded_ptr[u + 1]]
        test_scores = scores[u][test_items[tests]]
        at_least = np.zeros(len(test_scores), np.int64)
        _count_at_least(candidate_scores[u], test_scores, at_least)
        _rank_user(
            test_items[tests],
            test_scores,
            test_gains[tests],
            at_least,
            excluded,
            scores[u][excluded],
            candidate_mask,
            ranks[tests],
        )


@cached
def _count_at_least(scores: Any, thresholds: Any, counts: Any) -> None:
    for t in range(len(thresholds)):
        threshold = thresholds[t]
        count = 0
        for j in range(len(scores)):
            if scores[j] >= threshold:
                count += 1
        counts[t] += count


@cached
def _rank_user(
    items: Any,
    scores: Any,
    gains: Any,
    at_least: Any,
    excluded: Any,
    excluded_scores: Any,
    candidate_mask: Any,
    ranks: Any,
) -> None:
    """Rank one user's test items, given how many items of the mask score at least as much."""
    present = candidate_mask[items]
    for t in range(len(items)):
        for x in range(len(excluded)):
            if excluded[x] == items[t]:
                present[t] = False

    for t in range(len(items)):
        if not present[t] or np.isnan(gains[t]):
            continue
        # Candidates that are no test items: all of those at least as good are before it.
        before = at_least[t]
        for x in range(len(excluded)):
            if candidate_mask[excluded[x]] and excluded_scores[x] >= scores[t]:
                before -= 1
        # Of the test items only those stay that come before it: by score, of equal scores by
        # ascending gain, then by item code.
        for other in range(len(items)):
            if not present[other] or scores[other] < scores[t]:
                continue
            tied_ahead = gains[other] < gains[t] or (gains[other] == gains[t] and other < t)
            if np.isnan(gains[other]) or not (scores[other] > scores[t] or tied_ahead):
                before -= 1
        ranks[t] = before + 1
