"""AdaGrad for the rows that a batch touches: each row is updated once, by its summed gradient.

Tables of parameters have rows padded to whole quads (`directional.transpose.padded`); sixteen
rows are updated at once, in lanes.
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
from dmrank.compiled.transpose import gather, prefetch_row, scatter
from dmrank.support.arrays import Float32s, Int64s

if TYPE_CHECKING:
    from dmrank.training.pairwise.sampling import Groups


# Work is cut into so many tasks, whatever the number of threads: sums keep their order.
TASKS = 32
_EACH_LANE = np.arange(LANES)
# Keeps the first step finite if its gradient is 0.
_TINY = 1e-10
# A gradient with a larger square is a sign of overflow and is ignored.
_LARGEST_SQUARE = 1e30


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
    values: Float32s,
    squares: Float32s,
    groups: Groups,
    pair_gradients: Float32s,
    share: float,
    other_share: float,
    start: int,
    block: RowBlock,
) -> None:
    """Fill a block with the groups from ``start`` on and their summed gradients.

    If there are as many entries as pairs, an entry is a pair. If there are twice as many, the
    entries 2p and 2p + 1 are the items i and j of pair p, whose gradient counts ``share`` for the
    first and ``other_share`` for the second.
    """
    second_side = groups.links.shape[0] // pair_gradients.shape[0] - 1
    count = min(LANES, groups.totals[0] - start)
    width = values.shape[1]
    for lane in range(count):
        block.keys[lane] = groups.keys[start + lane]
        block.sizes[0, lane] = groups.sizes[start + lane]
        for column in range(0, width, QUAD):
            store_quad(block.summed, lane, column, empty_quad())
        entry = groups.heads[start + lane]
        while entry >= 0:
            weight = other_share if entry & second_side else share
            for column in range(0, width, QUAD):
                gradient = weight * load_quad(pair_gradients, entry >> second_side, column)
                total = load_quad(block.summed, lane, column) + gradient
                store_quad(block.summed, lane, column, total)
            entry = groups.links[entry]
    for lane in range(count, LANES):
        block.keys[lane] = block.keys[count - 1]
        block.sizes[0, lane] = block.sizes[0, count - 1]
        for column in range(0, width, QUAD):
            store_quad(block.summed, lane, column, load_quad(block.summed, count - 1, column))
    gather(block.summed, _EACH_LANE, block.gradients)
    gather(values, block.keys, block.values)
    gather(squares, block.keys, block.squares)


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
    values: Float32s,
    squares: Float32s,
    groups: Groups,
    pair_gradients: Float32s,
    how: RowUpdate,
    task: int,
) -> None:
    """Update the rows of one task out of `TASKS`.

    Parameters
    ----------
    values, squares
        The parameters and AdaGrad's sums, one row per key.
    groups
        Entries grouped by row.
    pair_gradients
        One row per pair: that of user u, or of item i and, negative, of item j.
    how
        Step size and penalties.
    task
        Number of the task.
    """
    block = new_row_block(values.shape[1])
    for start in range(task * LANES, groups.totals[0], TASKS * LANES):
        prefetch_groups(values, groups, start + TASKS * LANES)
        prefetch_groups(squares, groups, start + TASKS * LANES)
        gather_rows(values, squares, groups, pair_gradients, 1.0, -1.0, start, block)
        decay = how.regularization * load(block.sizes, 0)
        for row in range(values.shape[1]):
            gradient = load(block.gradients, row) - decay * load(block.values, row)
            store(block.gradients, row, how.scale * gradient)
        ascend(block, how.learning_rate)
        if how.nonnegative:
            for row in range(values.shape[1]):
                value = load(block.values, row)
                store(block.values, row, where_less(value, 0.0, 0.0, value))
        scatter(values, block.keys, block.values)
        scatter(squares, block.keys, block.squares)
