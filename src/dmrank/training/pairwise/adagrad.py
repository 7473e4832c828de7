"""AdaGrad for the rows that a batch touches: each row is updated once, by its summed gradient.

Tables of parameters have rows padded to whole quads (`compiled.transpose.padded`); sixteen rows
are updated at once, in lanes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled, inlined
from dmrank.compiled.lanes import (
    LANES,
    QUAD,
    empty_quad,
    load,
    load_quad,
    sqrt,
    store,
    store_quad,
    where_less,
)
from dmrank.compiled.tasks import TASKS
from dmrank.compiled.transpose import gather, prefetch_row, scatter
from dmrank.support.arrays import Float32s, Int64s

if TYPE_CHECKING:
    from dmrank.training.pairwise.grouping import Groups

_EACH_LANE = np.arange(LANES)
# Keeps the first step finite if its gradient is 0.
_TINY = 1e-10
# A gradient with a larger square is a sign of overflow and is ignored.
_LARGEST_SQUARE = 1e30


class Table(NamedTuple):
    """Parameters and AdaGrad's sums of squared gradients, one row per key."""

    values: Float32s
    squares: Float32s


class RowUpdate(NamedTuple):
    """How rows are updated.

    Attributes
    ----------
    learning_rate
        Step size of AdaGrad.
    scale
        Factor of every gradient: 1/batch size.
    regularization
        Weight of −½‖row‖² per sampled pair.
    nonnegative
        Whether rows are projected to numbers ≥ 0.
    """

    learning_rate: float
    scale: float
    regularization: float
    nonnegative: bool


class PairGradients(NamedTuple):
    """One gradient per pair, and how much of it counts for a row that the pair touches.

    If there are as many entries in groups as pairs, an entry is a pair. If there are twice as
    many, the entries 2p and 2p + 1 are the items i and j of pair p, whose gradient counts
    ``share`` for the first and ``other_share`` for the second.
    """

    rows: Float32s
    share: float
    other_share: float


class RowBlock(NamedTuple):
    """Sixteen rows on their way through an update, in lanes.

    Attributes
    ----------
    keys
        Row of each lane. If there are fewer rows than lanes the last one fills them, is
        computed again and written again.
    sizes
        Number of entries of each row, one row of lanes.
    summed
        Summed gradients, one row per lane as in a table.
    values, gradients, squares
        Parameters, gradients and AdaGrad's sums, one row per column of the table.
    """

    keys: Int64s
    sizes: Float32s
    summed: Float32s
    values: Float32s
    gradients: Float32s
    squares: Float32s


@compiled
def new_row_block(width: int) -> RowBlock:
    """Return memory for sixteen rows."""
    return RowBlock(
        np.zeros(LANES, np.int64),
        np.zeros((1, LANES), np.float32),
        np.zeros((LANES, width), np.float32),
        np.zeros((width, LANES), np.float32),
        np.zeros((width, LANES), np.float32),
        np.zeros((width, LANES), np.float32),
    )


@inlined
def prefetch_groups(table: Float32s, groups: Groups, start: int) -> None:
    """Ask for the rows of the sixteen groups from ``start`` on."""
    for index in range(start, min(start + LANES, groups.totals[0])):
        prefetch_row(table, groups.keys[index])


@compiled
def gather_rows(
    table: Table, groups: Groups, gradients: PairGradients, start: int, block: RowBlock
) -> None:
    """Fill a block with the groups from ``start`` on and their summed gradients."""
    count = min(LANES, groups.totals[0] - start)
    width = table.values.shape[1]
    for lane in range(count):
        block.keys[lane] = groups.keys[start + lane]
        block.sizes[0, lane] = groups.sizes[start + lane]
        _sum_gradients(groups, groups.heads[start + lane], gradients, block.summed, lane)
    for lane in range(count, LANES):
        block.keys[lane] = block.keys[count - 1]
        block.sizes[0, lane] = block.sizes[0, count - 1]
        for column in range(0, width, QUAD):
            store_quad(block.summed, lane, column, load_quad(block.summed, count - 1, column))
    gather(block.summed, _EACH_LANE, block.gradients)
    gather(table.values, block.keys, block.values)
    gather(table.squares, block.keys, block.squares)


@inlined
def _sum_gradients(
    groups: Groups, entry: int, gradients: PairGradients, summed: Float32s, lane: int
) -> None:
    """Sum the gradients of a group, given its last entry."""
    second_side = groups.links.shape[0] // gradients.rows.shape[0] - 1
    width = summed.shape[1]
    for column in range(0, width, QUAD):
        store_quad(summed, lane, column, empty_quad())
    while entry >= 0:
        weight = gradients.other_share if entry & second_side else gradients.share
        for column in range(0, width, QUAD):
            gradient = weight * load_quad(gradients.rows, entry >> second_side, column)
            store_quad(summed, lane, column, load_quad(summed, lane, column) + gradient)
        entry = groups.links[entry]


@compiled
def ascend(block: RowBlock, learning_rate: float) -> None:
    """Move the values along their gradients; a gradient that is not finite moves nothing."""
    for row in range(block.values.shape[0]):
        gradient = load(block.gradients, row)
        gradient = where_less(gradient * gradient, _LARGEST_SQUARE, gradient, 0.0)
        squares = load(block.squares, row) + gradient * gradient
        step = learning_rate * gradient / (sqrt(squares) + _TINY)
        store(block.squares, row, squares)
        store(block.values, row, load(block.values, row) + step)


@compiled
def ascended(
    value: np.float32, square: np.float32, gradient: np.float32, learning_rate: float
) -> tuple[np.float32, np.float32]:
    """Return what `ascend` makes of one value and its sum of squares."""
    if not gradient * gradient < _LARGEST_SQUARE:
        return value, square
    square += gradient * gradient
    step = learning_rate * gradient / (math.sqrt(square) + _TINY)
    return np.float32(value + step), square


@compiled
def update_rows(
    table: Table, groups: Groups, pair_gradients: Float32s, how: RowUpdate, task: int
) -> None:
    """Update the rows of one task out of `TASKS`.

    Parameters
    ----------
    table
        What is updated, one row per key.
    groups
        Entries grouped by row.
    pair_gradients
        One row per pair: that of user u, or of item i and, negative, of item j.
    how
        Step size and penalties.
    task
        Number of the task.
    """
    width = table.values.shape[1]
    block = new_row_block(width)
    gradients = PairGradients(pair_gradients, 1.0, -1.0)
    for start in range(task * LANES, groups.totals[0], TASKS * LANES):
        prefetch_groups(table.values, groups, start + TASKS * LANES)
        prefetch_groups(table.squares, groups, start + TASKS * LANES)
        gather_rows(table, groups, gradients, start, block)
        decay = how.regularization * load(block.sizes, 0)
        for row in range(width):
            gradient = load(block.gradients, row) - decay * load(block.values, row)
            store(block.gradients, row, how.scale * gradient)
        ascend(block, how.learning_rate)
        if how.nonnegative:
            for row in range(width):
                value = load(block.values, row)
                store(block.values, row, where_less(value, 0.0, 0.0, value))
        scatter(table.values, block.keys, block.values)
        scatter(table.squares, block.keys, block.squares)
