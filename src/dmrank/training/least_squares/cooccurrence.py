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
from dmrank.data.rows import group_rows, groups_of_rows
from dmrank.ranking.top_n import TopN, push
from dmrank.support.arrays import Codes, Floats, Int32s, Int64s
from dmrank.support.large_arrays import large_array
from dmrank.training.least_squares.item_regression import SparseRows

_ITEMS_PER_TASK = 64


class RatedRange(NamedTuple):
    """Who rated each of some items that follow each other, and all that these users rated.

    Attributes
    ----------
    item_pointer, users : int arrays
        Users of the n-th item are ``users[item_pointer[n]:item_pointer[n + 1]]``.
    user_pointer, items : int arrays
        The same of each user.
    """

    item_pointer: Int64s
    users: Int32s
    user_pointer: Int64s
    items: Codes


def popularity_held_back(items: Codes, n_items: int, exponent: float) -> Floats:
    """Return n_i^−e of each item."""
    counts = np.bincount(items, minlength=n_items).astype(np.float64)
    return np.asarray(np.power(np.maximum(counts, 1), -exponent))


def rated_range(pointer: Int64s, items: Codes, n_items: int) -> RatedRange:
    """Return the range of all items."""
    order, item_pointer = group_rows(items, n_items)
    return RatedRange(item_pointer, groups_of_rows(pointer)[order], pointer, items)


def find_neighbours(
    first: int, rated: RatedRange, held_back: Floats, kept: TopN, threads: int | None
) -> None:
    """Find the largest weights in the columns of a range of items.

    Parameters
    ----------
    first : int
        The first item of the range.
    rated : RatedRange
        Who rated its items.
    held_back : float array
        n_i^−e of all items.
    kept : TopN
        Where they are put, a row for each item of the range.
    threads : int or None
        Number of threads.
    """
    for_ranges(
        lambda start, stop: _columns(start, stop, first, rated, held_back, kept),
        len(kept.items),
        _ITEMS_PER_TASK,
        threads,
    )


def by_rows(kept: TopN) -> SparseRows:
    """Return what the columns of B have kept, row by row."""
    n_items, neighbours = kept.items.shape
    # Group 0 is of what is not there.
    groups = large_array(kept.items.size, np.int32)
    np.add(kept.items.reshape(-1), 1, out=groups)
    order, pointer = group_rows(groups, n_items + 1)
    order, pointer = order[pointer[1] :], pointer[1:] - pointer[1]
    columns = large_array(len(order), np.int32)
    np.floor_divide(order, neighbours, out=columns, casting="same_kind")
    values = large_array(len(order), np.float32)
    kept.scores.reshape(-1).take(order, out=values, mode="clip")  # other modes copy the table
    return SparseRows(pointer, columns, values)


@cached
def _columns(
    start: int, stop: int, first_item: int, rated: RatedRange, held_back: Floats, kept: TopN
) -> None:
    """Find the neighbours of some items."""
    sums = np.zeros(len(held_back))
    met = np.empty(len(held_back), np.int32)
    for row in range(start, stop):
        count, item = 0, first_item + row
        for place in range(rated.item_pointer[row], rated.item_pointer[row + 1]):
            user = rated.users[place]
            first, last = rated.user_pointer[user], rated.user_pointer[user + 1]
            for other in rated.items[first:last]:
                if other != item:
                    if sums[other] == 0.0:
                        met[count] = other
                        count += 1
                    sums[other] += 1.0 / (last - first)
        best = TopN(kept.items[row], kept.scores[row])
        size = int(np.int64(0))  # for a literal 0, Numba compiles `push` once more
        for other in met[:count]:
            weight = sums[other] * held_back[other] * held_back[other] * held_back[item]
            size = push(best, size, other, np.float32(weight))
            sums[other] = 0.0
