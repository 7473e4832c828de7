"""The best of the items that a caller has chosen: the second stage of a two-stage ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.ranking.layout import NOT_FINITE, ItemLists, as_matrix, check_widths, item_lists
from dmrank.ranking.scoring import USERS_PER_TASK, dot
from dmrank.ranking.top_n import TopN, no_items
from dmrank.support.arrays import Float32s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def score_lists(
    user_vectors: ArrayLike,
    item_vectors: ArrayLike,
    pointer: ArrayLike,
    items: ArrayLike,
    threads: int | None = None,
) -> Float32s:
    """Score the items of each user's own list, to the same bits as `top_n`.

    Parameters
    ----------
    user_vectors, item_vectors
        One row per user, one row per item.
    pointer, items
        The list of user u is ``items[pointer[u]:pointer[u + 1]]``, ascending, each item once.
    threads
        Number of threads; by default one per core.

    Examples
    --------
    >>> score_lists([[1.0], [2.0]], [[3.0], [4.0]], pointer=[0, 1, 3], items=[1, 0, 1])
    array([4., 6., 8.], dtype=float32)
    """
    users, rows = (np.ascontiguousarray(as_matrix(each)) for each in (user_vectors, item_vectors))
    check_widths(users, rows.shape[1])
    lists = item_lists("candidate", pointer, items, len(users), len(rows))
    scores = np.empty(len(lists.items), dtype=np.float32)
    for_ranges(
        lambda start, stop: _score_lists(start, stop, users, rows, lists, scores),
        len(users),
        USERS_PER_TASK,
        threads,
    )
    # Few scores are checked sooner than all vectors.
    if not np.isfinite(scores).all():
        raise DataError(NOT_FINITE)
    return scores


def best_of_lists(scores: ArrayLike, pointer: ArrayLike, items: ArrayLike, n: int) -> TopN:
    """Return the n best of each user's own list, as `top_n` does.

    Parameters
    ----------
    scores, items
        Of every list, one after the other.
    pointer
        Where the list of each user starts, and where the last one ends.
    n
        How many items per user.

    Examples
    --------
    >>> best_of_lists([1.0, 3.0, 2.0, 7.0], pointer=[0, 3, 4], items=[4, 5, 6, 4], n=2).items
    array([[ 5,  6],
           [ 4, -1]], dtype=int32)
    """
    values, ends = np.asarray(scores), np.asarray(pointer, dtype=np.int64)
    codes = np.asarray(items, dtype=np.int32)
    if np.isnan(values).any():
        raise DataError("a score is NaN: the model may have diverged")
    sizes = np.diff(ends)
    row = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((codes, -values, row))
    # Sorting keeps every list in its rows, so that a place is the distance from its start.
    place = np.arange(len(row)) - ends[:-1][row]
    listed = place < n
    best = no_items(len(sizes), n, values.dtype)
    best.items[row[listed], place[listed]] = codes[order][listed]
    best.scores[row[listed], place[listed]] = values[order][listed]
    return best


@cached
def _score_lists(
    start: int,
    stop: int,
    user_vectors: Float32s,
    item_vectors: Float32s,
    lists: ItemLists,
    scores: Float32s,
) -> None:
    for u in range(start, stop):
        for place in range(lists.pointer[u], lists.pointer[u + 1]):
            scores[place] = dot(user_vectors[u], item_vectors[lists.items[place]])
