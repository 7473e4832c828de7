"""The largest weights of B (items × items), stored sparse, and the scores XB that they give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.data.rows import group_rows
from dmrank.support.arrays import Codes, Float32s, Int64s
from dmrank.training.least_squares.item_regression import SparseRows

#: Columns of B that are looked through at once.
_COLUMNS = 256
#: To look a weight up takes as long as to add so many that lie side by side.
_LOOK_UP = 50


class Pruned(NamedTuple):
    """What is left of B, row by row with ascending columns, and what was lost.

    Attributes
    ----------
    weights : SparseRows
        Row i has the weights with which item i counts for others.
    lost : float
        The share of the squared weights that was dropped.
    """

    weights: SparseRows
    lost: float


def prune(weights: Float32s, per_column: int) -> Pruned:
    """Keep the weights of the largest magnitude of each column; zeros are not stored.

    Examples
    --------
    >>> weights = np.float32([[0, 3, 1], [-4, 0, 2], [1, 1, 0]])
    >>> kept, lost = prune(weights, per_column=1)
    >>> kept.pointer.tolist(), kept.items.tolist(), kept.values.tolist(), round(lost, 3)
    ([0, 1, 3, 3], [1, 0, 2], [3.0, -4.0, 2.0], 0.094)
    """
    n_items = len(weights)
    rows, columns, values = [], [], []
    whole = 0.0
    for start in range(0, n_items, _COLUMNS):
        block = np.ascontiguousarray(weights[:, start : start + _COLUMNS].T)
        whole += float(np.square(block, dtype=np.float64).sum())
        largest = _largest(np.abs(block), per_column)
        of_block = np.take_along_axis(block, largest, axis=1)
        column, place = np.nonzero(of_block)
        rows.append(largest[column, place].astype(np.int32))
        columns.append((column + start).astype(np.int32))
        values.append(of_block[column, place])
    order, pointer = group_rows(np.concatenate(rows), n_items)
    kept = SparseRows(pointer, np.concatenate(columns)[order], np.concatenate(values)[order])
    left = float(np.square(kept.values, dtype=np.float64).sum())
    return Pruned(kept, max(0.0, 1 - left / whole) if whole else 0.0)


def _largest(sizes: Float32s, count: int) -> Int64s:
    """Return where the largest values of each row are."""
    if count >= sizes.shape[1]:
        return np.tile(np.arange(sizes.shape[1]), (len(sizes), 1))
    return np.argpartition(sizes, -count, axis=1)[:, -count:]


@cached
def score_users(
    start: int, stop: int, rows: SparseRows, users: Codes, weights: SparseRows, scores: Float32s
) -> None:
    """Add up rows of XB for some of the users: the scores of all items."""
    for n in range(start, stop):
        own = scores[n]
        for place in range(rows.pointer[users[n]], rows.pointer[users[n] + 1]):
            _add_row(own, weights, rows.items[place], rows.values[place])


@cached
def score_range_of_pairs(
    start: int,
    stop: int,
    rows: SparseRows,
    pairs: tuple[Codes, Codes],
    weights: SparseRows,
    scores: Float32s,
) -> None:
    """Score pairs: one by one, or from the scores of all items for a user who has many."""
    users, items = pairs
    every = np.zeros(len(weights.pointer) - 1, np.float32)
    row_length = len(weights.items) / max(len(every), 1)
    first = start
    while first < stop:
        user, last = users[first], first + 1
        while last < stop and users[last] == user:
            last += 1
        begin, end = rows.pointer[user], rows.pointer[user + 1]
        if (last - first) * _LOOK_UP < row_length:
            for n in range(first, last):
                for place in range(begin, end):
                    scores[n] += rows.values[place] * _weight(weights, rows.items[place], items[n])
        else:
            for item in range(len(every)):
                every[item] = 0
            for place in range(begin, end):
                _add_row(every, weights, rows.items[place], rows.values[place])
            for n in range(first, last):
                scores[n] = every[items[n]]
        first = last


@compiled
def _add_row(total: Float32s, weights: SparseRows, row: int, value: np.float32) -> None:
    for entry in range(weights.pointer[row], weights.pointer[row + 1]):
        total[weights.items[entry]] += value * weights.values[entry]


@compiled
def _weight(weights: SparseRows, row: int, column: int) -> np.float32:
    """Return an element of B, found by halving its row."""
    first, last = weights.pointer[row], weights.pointer[row + 1]
    while first < last:
        middle = (first + last) // 2
        if weights.items[middle] < column:
            first = middle + 1
        else:
            last = middle
    if first < weights.pointer[row + 1] and weights.items[first] == column:
        return np.float32(weights.values[first])
    return np.float32(0)
