"""The n best items of every user, without those the user has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.ranges import for_ranges
from dmrank.ranking.layout import (
    ItemColumns,
    ItemLists,
    checked_scores,
    checked_users,
    item_columns,
    item_lists,
    item_mask,
)
from dmrank.ranking.scoring import ITEMS_PER_CHUNK, USERS_PER_TASK, score_chunk
from dmrank.support.arrays import AnyFloats, Bools, Float32s, Int32s
from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Score: TypeAlias = np.floating[Any]

# Scores compared with the threshold at once: most blocks hold no candidate and cost nothing more.
_BLOCK = 64
# By so much a float32 operation is off: a share of what it returns, and what is too small for that.
_ROUNDING, _SMALLEST = 2.0**-23, 2.0**-126


class TopN(NamedTuple):
    """The best items of each user, best first.

    Attributes
    ----------
    items
        Item codes, of shape (users, n), filled up with −1.
    scores
        Their scores, filled up with −∞.
    """

    items: Int32s
    scores: AnyFloats


class Offered(NamedTuple):
    """Items that may be among the best.

    Attributes
    ----------
    codes, scores
        Of each.
    allowed
        Which of them may be listed.
    in_order
        Whether codes ascend, also beyond those that were offered before: of equal scores the first
        then stays.
    """

    codes: Int32s
    scores: AnyFloats
    allowed: Bools
    in_order: bool


def top_n(
    user_vectors: ArrayLike,
    item_vectors: ArrayLike | ItemColumns,
    n: int,
    seen_ptr: ArrayLike,
    seen_items: ArrayLike,
    allowed: ArrayLike | None = None,
    threads: int | None = None,
) -> TopN:
    """Return the n items with the largest dot product for every user.

    Equal scores are ordered by ascending item code. The result does not depend on the number of
    threads nor on which users are asked for together. It is exact, though few items may be scored:
    those whose vectors are too short to come among the best, whatever their direction, are not.

    Parameters
    ----------
    user_vectors
        One row per user.
    item_vectors
        One row per item, or `item_columns` of them: prepared once for many calls.
    n
        How many items per user.
    seen_ptr, seen_items
        The items to leave out for user u are ``seen_items[seen_ptr[u]:seen_ptr[u + 1]]``,
        ascending, each once.
    allowed
        True for the items that may be returned; by default all.
    threads
        Number of threads; by default one per core.

    Examples
    --------
    >>> users, items = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]]
    >>> top_n(users, items, n=2, seen_ptr=[0, 1, 1], seen_items=[0]).items
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    given = item_vectors if isinstance(item_vectors, ItemColumns) else item_columns(item_vectors)
    items, mask = given.among(allowed)
    users = checked_users(user_vectors, len(items.columns), items.largest)
    seen = item_lists("seen", seen_ptr, seen_items, len(users), items.n_items)
    best = no_items(len(users), n, np.float32)
    for_ranges(
        lambda start, stop: _top_n_of_vectors(start, stop, users, items, mask, seen, best),
        len(users),
        USERS_PER_TASK,
        threads,
    )
    return best


def top_n_scores(
    score_block: ArrayLike,
    n: int,
    seen_ptr: ArrayLike,
    seen_items: ArrayLike,
    allowed: ArrayLike | None = None,
    threads: int | None = None,
) -> TopN:
    """Return the n items with the largest score for every user, from a block of scores.

    An item of score −∞ is never returned.

    Parameters
    ----------
    score_block
        Scores, one row per user and one column per item.
    n, seen_ptr, seen_items, allowed, threads
        As for `top_n`.

    Examples
    --------
    >>> top_n_scores([[0.1, 0.9, 0.4]], n=2, seen_ptr=[0, 1], seen_items=[1]).items
    array([[2, 0]], dtype=int32)
    """
    scores = checked_scores(score_block)
    seen = item_lists("seen", seen_ptr, seen_items, *scores.shape)
    n_items = scores.shape[1]
    codes = np.arange(n_items, dtype=np.int32)
    mask = np.ones(n_items, np.bool_)
    if allowed is not None:
        mask = item_mask("allowed", allowed, n_items)
    best = no_items(len(scores), n, scores.dtype)
    for_ranges(
        lambda start, stop: _top_n_of_scores(start, stop, scores, codes, mask, seen, best),
        len(scores),
        USERS_PER_TASK,
        threads,
    )
    return best


def no_items(n_users: int, n: int, dtype: np.typing.DTypeLike = np.float32) -> TopN:
    """Return lists that are still empty.

    Examples
    --------
    >>> no_items(1, 2)
    TopN(items=array([[-1, -1]], dtype=int32), scores=array([[-inf, -inf]], dtype=float32))
    """
    if n < 1:
        raise ConfigError(f"n={n!r}: ask for at least 1 item")
    return TopN(np.full((n_users, n), -1, np.int32), np.full((n_users, n), -np.inf, dtype))


@cached
def _top_n_of_vectors(
    start: int,
    stop: int,
    user_vectors: Float32s,
    items: ItemColumns,
    allowed: Bools,
    seen: ItemLists,
    best: TopN,
) -> None:
    sizes = np.zeros(stop - start, np.int64)
    lengths = np.empty(stop - start, np.float64)
    for u in range(start, stop):
        lengths[u - start] = _length(user_vectors[u])
    buffer = np.empty(ITEMS_PER_CHUNK, np.float32)
    for first in range(0, len(items.codes), ITEMS_PER_CHUNK):
        last = min(first + ITEMS_PER_CHUNK, len(items.codes))
        offered = Offered(
            items.codes[first:last], buffer[: last - first], allowed[first:last], False
        )
        goes_on = False
        for u in range(start, stop):
            heap = TopN(best.items[u], best.scores[u])
            size = sizes[u - start]
            reach = _reach(lengths[u - start], items.lengths[first], len(items.columns))
            if size == len(heap.items) and reach < heap.scores[0]:
                continue
            goes_on = True
            score_chunk(user_vectors[u], items.columns, first, offered.scores)
            own_seen = seen.items[seen.pointer[u] : seen.pointer[u + 1]]
            sizes[u - start] = offer(offered, own_seen, heap, size)
        if not goes_on:
            break
    for u in range(start, stop):
        sort_heap(best.items[u], best.scores[u], sizes[u - start])


@compiled
def _length(vector: Float32s) -> float:
    total = 0.0
    for k in range(len(vector)):
        total += np.float64(vector[k]) * np.float64(vector[k])
    return np.sqrt(total)


@compiled
def _reach(user_length: float, item_length: float, factors: int) -> float:
    """Return what no score is above (Cauchy and Schwarz), however its float32 sum was rounded."""
    return user_length * item_length * (1 + (factors + 8) * _ROUNDING) + factors * _SMALLEST


@cached
def _top_n_of_scores(
    start: int,
    stop: int,
    scores: AnyFloats,
    codes: Int32s,
    allowed: Bools,
    seen: ItemLists,
    best: TopN,
) -> None:
    for u in range(start, stop):
        heap = TopN(best.items[u], best.scores[u])
        own_seen = seen.items[seen.pointer[u] : seen.pointer[u + 1]]
        size = offer(Offered(codes, scores[u], allowed, True), own_seen, heap, 0)
        sort_heap(heap.items, heap.scores, size)


@compiled
def offer(offered: Offered, seen: Int32s, heap: TopN, size: int) -> int:
    """Put the best of some items into a user's heap; return its size.

    Parameters
    ----------
    offered
        The items.
    seen
        What the user has seen, ascending.
    heap, size
        The best so far, the worst of them first, and how many they are.
    """
    codes, scores, allowed, in_order = offered
    capacity = len(heap.items)
    # A place that is not filled yet holds −∞, of the right type for a fast comparison.
    threshold = heap.scores[0] if size == capacity else heap.scores[size]
    for first in range(0, len(scores), _BLOCK):
        last = min(first + _BLOCK, len(scores))
        block = scores[first:last]
        if not (any_above(block, threshold) if in_order else _any_reaches(block, threshold)):
            continue
        for j in range(first, last):
            is_good = scores[j] > threshold or (not in_order and scores[j] == threshold)
            if not (is_good and allowed[j]) or _is_among(codes[j], seen):
                continue
            size = push(heap, size, codes[j], scores[j])
            if size == capacity:
                threshold = heap.scores[0]
    return size


@compiled
def _is_among(item: np.int32, items: Int32s) -> bool:
    """Return whether an item is one of some, which ascend."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(items) and items[low] == item)


@compiled
def push(heap: TopN, size: int, item: np.int32, score: Score) -> int:
    """Put an item into a heap if it is among the best, and return how many these are."""
    if size < len(heap.items):
        _sift_up(heap.items, heap.scores, size, item, score)
        return size + 1
    if _worse(heap.scores[0], heap.items[0], score, item):
        _sift_down(heap.items, heap.scores, size, item, score)
    return size


@compiled
def any_above(scores: AnyFloats, threshold: Score) -> bool:
    """Return whether there is a score above a threshold, faster than by stopping at the first."""
    found = False
    for j in range(len(scores)):
        found |= scores[j] > threshold
    return found


@compiled
def _any_reaches(scores: AnyFloats, threshold: Score) -> bool:
    found = False
    for j in range(len(scores)):
        found |= scores[j] >= threshold
    return found


@compiled
def _worse(score: Score, item: np.int32, other_score: Score, other_item: np.int32) -> bool:
    return bool(score < other_score or (score == other_score and item > other_item))


@compiled
def _sift_up(items: Int32s, scores: AnyFloats, at: int, item: np.int32, score: Score) -> None:
    """Add an item at the end of a heap whose root is the worst."""
    while at > 0:
        parent = (at - 1) // 2
        if not _worse(score, item, scores[parent], items[parent]):
            break
        items[at], scores[at] = items[parent], scores[parent]
        at = parent
    items[at], scores[at] = item, score


@compiled
def _sift_down(items: Int32s, scores: AnyFloats, size: int, item: np.int32, score: Score) -> None:
    """Replace the root of a heap of this size."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _worse(
            scores[child + 1], items[child + 1], scores[child], items[child]
        ):
            child += 1
        if not _worse(scores[child], items[child], score, item):
            break
        items[at], scores[at] = items[child], scores[child]
        at = child
    items[at], scores[at] = item, score


@compiled
def sort_heap(items: Int32s, scores: AnyFloats, size: int) -> None:
    """Turn a heap into a list, best first: the worst goes to the end, again and again."""
    for end in range(size - 1, 0, -1):
        item, score = items[end], scores[end]
        items[end], scores[end] = items[0], scores[0]
        _sift_down(items, scores, end, item, score)
