"""The n best items of every user, without those the user has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.ranking.items import ItemColumns, allowed_mask, item_columns
from dmrank.ranking.lists import item_lists
from dmrank.ranking.scoring import (
    ITEMS_PER_CHUNK,
    USERS_PER_TASK,
    checked_scores,
    checked_users,
    score_chunk,
)
from dmrank.support.arrays import AnyFloats, Int32s
from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Scores compared with the threshold at once: most blocks hold no candidate and cost nothing more.
_BLOCK = 64


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
    threads nor on which users are asked for together.

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
        lambda start, stop: _top_n_of_vectors(
            start, stop, users, items.columns, items.codes, mask, *seen, *best
        ),
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
    codes = np.arange(scores.shape[1], dtype=np.int32)
    mask = np.ones(len(codes), np.bool_) if allowed is None else allowed_mask(allowed, len(codes))
    best = no_items(len(scores), n, scores.dtype)
    for_ranges(
        lambda start, stop: _top_n_of_scores(start, stop, scores, codes, mask, *seen, *best),
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
    user_vectors: Any,
    item_columns: Any,
    codes: Any,
    allowed: Any,
    seen_ptr: Any,
    seen_items: Any,
    best_items: Any,
    best_scores: Any,
) -> None:
    sizes = np.zeros(stop - start, np.int64)
    next_seen = seen_ptr[start:stop].copy()
    buffer = np.empty(ITEMS_PER_CHUNK, np.float32)
    for first in range(0, len(codes), ITEMS_PER_CHUNK):
        last = min(first + ITEMS_PER_CHUNK, len(codes))
        scores = buffer[: last - first]
        for u in range(start, stop):
            score_chunk(user_vectors[u], item_columns, first, scores)
            sizes[u - start], next_seen[u - start] = offer(
                scores,
                codes[first:last],
                allowed[first:last],
                seen_items[: seen_ptr[u + 1]],
                next_seen[u - start],
                best_items[u],
                best_scores[u],
                sizes[u - start],
            )
    for u in range(start, stop):
        sort_heap(best_items[u], best_scores[u], sizes[u - start])


@cached
def _top_n_of_scores(
    start: int,
    stop: int,
    scores: Any,
    codes: Any,
    allowed: Any,
    seen_ptr: Any,
    seen_items: Any,
    best_items: Any,
    best_scores: Any,
) -> None:
    for u in range(start, stop):
        seen = seen_items[: seen_ptr[u + 1]]
        size, _ = offer(
            scores[u], codes, allowed, seen, seen_ptr[u], best_items[u], best_scores[u], 0
        )
        sort_heap(best_items[u], best_scores[u], size)


@cached
def offer(
    scores: Any,
    codes: Any,
    allowed: Any,
    seen: Any,
    next_seen: int,
    heap_items: Any,
    heap_scores: Any,
    size: int,
) -> tuple[int, int]:
    """Put the best of these scores into the heap; return its size and the next seen item."""
    capacity = len(heap_items)
    # A place that is not filled yet holds −∞, of the right type for a fast comparison.
    threshold = heap_scores[0] if size == capacity else heap_scores[size]
    for first in range(0, len(scores), _BLOCK):
        last = min(first + _BLOCK, len(scores))
        if not any_above(scores[first:last], threshold):
            continue
        for j in range(first, last):
            # Strictly above: of equal scores the first item, the lower code, stays.
            if not (scores[j] > threshold and allowed[j]):
                continue
            item = codes[j]
            while next_seen < len(seen) and seen[next_seen] < item:
                next_seen += 1
            if next_seen < len(seen) and seen[next_seen] == item:
                continue
            if size < capacity:
                _sift_up(heap_items, heap_scores, size, item, scores[j])
                size += 1
            else:
                _sift_down(heap_items, heap_scores, size, item, scores[j])
            if size == capacity:
                threshold = heap_scores[0]
    return size, next_seen


@cached
def any_above(scores: Any, threshold: Any) -> bool:
    """Return whether there is a score above a threshold, faster than by stopping at the first."""
    found = False
    for j in range(len(scores)):
        found |= scores[j] > threshold
    return found


@cached
def _worse(score: Any, item: Any, other_score: Any, other_item: Any) -> bool:
    return score < other_score or (score == other_score and item > other_item)


@cached
def _sift_up(items: Any, scores: Any, at: int, item: Any, score: Any) -> None:
    """Add an item at the end of a heap whose root is the worst."""
    while at > 0:
        parent = (at - 1) // 2
        if not _worse(score, item, scores[parent], items[parent]):
            break
        items[at], scores[at] = items[parent], scores[parent]
        at = parent
    items[at], scores[at] = item, score


@cached
def _sift_down(items: Any, scores: Any, size: int, item: Any, score: Any) -> None:
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


@cached
def sort_heap(items: Any, scores: Any, size: int) -> None:
    """Turn a heap into a list, best first: the worst goes to the end, again and again."""
    for end in range(size - 1, 0, -1):
        item, score = items[end], scores[end]
        items[end], scores[end] = items[0], scores[0]
        _sift_down(items, scores, end, item, score)
