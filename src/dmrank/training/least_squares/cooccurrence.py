"""Items that the same users rated, as sparse weights: the few neighbours of each item that count.

With n_u and n_i the numbers of ratings and e an exponent,

    B_ij = n_i^−2e n_j^−e Σ_(u rated i and j) 1/n_u ,

of which each column keeps its largest. With e = ½ it is the linear filter of Shen et al. ("How
powerful is graph convolution for recommendation?", CIKM 2021): ratings X scaled to
Y = diag(n_u)^−½ X diag(n_i)^−½, and scores YYᵀY, but for a factor of each user. No matrix of all
pairs of items is ever held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.data.rows import group_rows
from dmrank.ranking.top_n import TopN, no_items, push
from dmrank.support.arrays import Codes, Floats, Int32s, Int64s
from dmrank.training.least_squares.item_regression import SparseRows

_ITEMS_PER_TASK = 64


class _Rated(NamedTuple):
    """Who rated each item and what each user rated, flat with pointers."""

    item_pointer: Int64s
    users: Int32s
    user_pointer: Int64s
    items: Codes


def cooccurrence(
    pointer: Int64s,
    items: Codes,
    n_items: int,
    *,
    exponent: float,
    neighbours: int,
    threads: int | None,
) -> SparseRows:
    """Return B, row by row with ascending columns.

    Parameters
    ----------
    pointer, items : int arrays
        Items of user u are ``items[pointer[u]:pointer[u + 1]]``.
    n_items : int
        Number of items.
    exponent : float
        How much popular items are held back [e].
    neighbours : int
        The most weights of a column.
    threads : int or None
        Number of threads.

    Examples
    --------
    >>> pointer, items = np.array([0, 2, 4, 5]), np.int32([0, 1, 0, 1, 2])
    >>> weights = cooccurrence(pointer, items, 3, exponent=0.5, neighbours=2, threads=1)
    >>> weights.pointer, weights.items, weights.values.round(3)
    (array([0, 1, 2, 2]), array([1, 0], dtype=int32), array([0.354, 0.354], dtype=float32))
    """
    counts = np.bincount(items, minlength=n_items).astype(np.float64)
    held_back = np.power(np.maximum(counts, 1), -exponent)
    order, item_pointer = group_rows(items, n_items)
    row_users = np.repeat(np.arange(len(pointer) - 1, dtype=np.int32), np.diff(pointer))
    rated = _Rated(item_pointer, row_users[order], pointer, items)
    kept = no_items(n_items, neighbours)
    for_ranges(
        lambda start, stop: _columns(start, stop, rated, held_back, kept),
        n_items,
        _ITEMS_PER_TASK,
        threads,
    )
    column, place = np.nonzero(kept.items >= 0)
    rows = kept.items[column, place]
    order, row_pointer = group_rows(rows, n_items)
    return SparseRows(
        row_pointer, column[order].astype(np.int32), kept.scores[column, place][order]
    )


@cached
def _columns(start: int, stop: int, rated: _Rated, held_back: Floats, kept: TopN) -> None:
    """Find the neighbours of some items."""
    sums = np.zeros(len(held_back))
    met = np.empty(len(held_back), np.int32)
    for item in range(start, stop):
        count = 0
        for place in range(rated.item_pointer[item], rated.item_pointer[item + 1]):
            user = rated.users[place]
            first, last = rated.user_pointer[user], rated.user_pointer[user + 1]
            for other in rated.items[first:last]:
                if other != item:
                    if sums[other] == 0.0:
                        met[count] = other
                        count += 1
                    sums[other] += 1.0 / (last - first)
        best = TopN(kept.items[item], kept.scores[item])
        size = int(np.int64(0))  # for a literal 0, Numba compiles `push` once more
        for other in met[:count]:
            weight = sums[other] * held_back[other] * held_back[other] * held_back[item]
            size = push(best, size, other, np.float32(weight))
            sums[other] = 0.0
