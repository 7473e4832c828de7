"""The place of given items in a user's full ranking, ties counted against the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.ranges import for_ranges
from dmrank.ranking.layout import (
    ItemLists,
    checked_scores,
    checked_vectors,
    item_lists,
    item_mask,
)
from dmrank.ranking.scoring import ITEMS_PER_CHUNK, USERS_PER_TASK, dot, score_chunk
from dmrank.support.arrays import AnyFloats, Bools, Float32s, Floats, Int64s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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


class _Items(NamedTuple):
    """Item vectors: one row per item, and one row per factor of the candidates alone."""

    rows: Float32s
    candidate_columns: Float32s


class _Found(NamedTuple):
    """What ranks one user's test items: their scores and those of what is excluded.

    ``at_least`` counts, for each test item, the candidates of `RankQuery` that score as much.
    """

    test_scores: AnyFloats
    at_least: Int64s
    excluded_scores: AnyFloats


def ranks_of_items(  # noqa: PLR0917 (flat arrays, as kernels of other libraries take them)
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
    mask = item_mask("candidate_mask", candidate_mask, len(items))
    query = RankQuery(tests, gains, excluded, mask)
    vectors = _Items(np.ascontiguousarray(items), np.ascontiguousarray(items.T[:, mask]))
    ranks = np.zeros(len(gains), np.int64)
    for_ranges(
        lambda start, stop: _ranks_by_vectors(start, stop, users, vectors, query, ranks),
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
    mask = item_mask("candidate_mask", candidate_mask, scores.shape[1])
    query = RankQuery(tests, gains, excluded, mask)
    candidates = scores if mask.all() else scores.compress(mask, axis=1)
    ranks = np.zeros(len(gains), np.int64)
    for_ranges(
        lambda start, stop: _ranks_by_scores(start, stop, scores, candidates, query, ranks),
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


@cached
def _ranks_by_vectors(
    start: int, stop: int, user_vectors: Float32s, items: _Items, query: RankQuery, ranks: Int64s
) -> None:
    test_ptr, test_items = query.items
    base = test_ptr[start]
    test_scores = np.empty(test_ptr[stop] - base, np.float32)
    for u in range(start, stop):
        for t in range(test_ptr[u], test_ptr[u + 1]):
            test_scores[t - base] = dot(user_vectors[u], items.rows[test_items[t]])

    at_least = np.zeros(len(test_scores), np.int64)
    buffer = np.empty(ITEMS_PER_CHUNK, np.float32)
    n_candidates = items.candidate_columns.shape[1]
    for first in range(0, n_candidates, ITEMS_PER_CHUNK):
        last = min(first + ITEMS_PER_CHUNK, n_candidates)
        scores = buffer[: last - first]
        for u in range(start, stop):
            tests = slice(test_ptr[u] - base, test_ptr[u + 1] - base)
            if tests.start < tests.stop:
                score_chunk(user_vectors[u], items.candidate_columns, first, scores)
                _count_at_least(scores, test_scores[tests], at_least[tests])

    for u in range(start, stop):
        own = slice(test_ptr[u] - base, test_ptr[u + 1] - base)
        excluded = query.excluded.items[query.excluded.pointer[u] : query.excluded.pointer[u + 1]]
        excluded_scores = np.empty(len(excluded), np.float32)
        for x in range(len(excluded)):
            excluded_scores[x] = dot(user_vectors[u], items.rows[excluded[x]])
        _rank_user(u, query, _Found(test_scores[own], at_least[own], excluded_scores), ranks)


@cached
def _ranks_by_scores(
    start: int,
    stop: int,
    scores: AnyFloats,
    candidate_scores: AnyFloats,
    query: RankQuery,
    ranks: Int64s,
) -> None:
    for u in range(start, stop):
        tests = query.items.items[query.items.pointer[u] : query.items.pointer[u + 1]]
        excluded = query.excluded.items[query.excluded.pointer[u] : query.excluded.pointer[u + 1]]
        test_scores = scores[u][tests]
        at_least = np.zeros(len(test_scores), np.int64)
        _count_at_least(candidate_scores[u], test_scores, at_least)
        _rank_user(u, query, _Found(test_scores, at_least, scores[u][excluded]), ranks)


@compiled
def _count_at_least(scores: AnyFloats, thresholds: AnyFloats, counts: Int64s) -> None:
    for t in range(len(thresholds)):
        threshold = thresholds[t]
        count = 0
        for j in range(len(scores)):
            if scores[j] >= threshold:
                count += 1
        counts[t] += count


@compiled
def _rank_user(u: int, query: RankQuery, found: _Found, ranks: Int64s) -> None:
    """Rank one user's test items, given how many candidates score at least as much."""
    tests = slice(query.items.pointer[u], query.items.pointer[u + 1])
    items, gains, own_ranks = query.items.items[tests], query.gains[tests], ranks[tests]
    excluded = query.excluded.items[query.excluded.pointer[u] : query.excluded.pointer[u + 1]]
    scores = found.test_scores
    present = query.candidates[items]
    for t in range(len(items)):
        for x in range(len(excluded)):
            if excluded[x] == items[t]:
                present[t] = False

    for t in range(len(items)):
        if not present[t] or np.isnan(gains[t]):
            continue
        # Candidates that are no test items: all of those at least as good are before it.
        before = found.at_least[t]
        for x in range(len(excluded)):
            if query.candidates[excluded[x]] and found.excluded_scores[x] >= scores[t]:
                before -= 1
        # Of the test items only those stay that come before it: by score, of equal scores by
        # ascending gain, then by item code.
        for other in range(len(items)):
            if not present[other] or scores[other] < scores[t]:
                continue
            tied_ahead = gains[other] < gains[t] or (gains[other] == gains[t] and other < t)
            if np.isnan(gains[other]) or not (scores[other] > scores[t] or tied_ahead):
                before -= 1
        own_ranks[t] = before + 1
