"""Multiplicative updates of non-negative factors that explain three tables together.

Users P = [U1 H1], items Q = [U2 H2] and aspects V explain ratings A ≈ P Qᵀ, attention X ≈ U1 Vᵀ
and quality Y ≈ U2 Vᵀ (Zhang et al., SIGIR 2014). The gradient of the objective by a row θ is a
difference of two vectors that are not negative, ∇ = 2 (denominator − numerator), and the update
is θ ← θ √(numerator / denominator). It keeps θ ≥ 0 and does not raise the objective, also when
all rows of P, of Q or of V are updated at once: the other two held, rows do not meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled, inlined
from dmrank.compiled.lanes import QUAD, empty_quad, load_quad, store_quad
from dmrank.compiled.ranges import count_threads
from dmrank.compiled.tasks import (
    TASKS,
    Counters,
    new_counters,
    run_on_threads,
    share_tasks,
)
from dmrank.data.rows import group_rows
from dmrank.support.arrays import Codes, Float32s, Floats, Int32s, Int64s

# Rows of factors are whole groups of so many numbers: what vector registers hold.
_GROUP = 8
# 0/0 is 0: a factor that nothing asks for.
_SMALLEST_DENOMINATOR = np.float32(1e-30)
# A factor on its way to 0 is 0 before it gets so small that arithmetic slows down.
_SMALLEST_FACTOR = np.float32(1e-15)


class Entries(NamedTuple):
    """Observed entries of a table, row by row.

    Attributes
    ----------
    pointer
        Entries of row n are ``pointer[n]`` to ``pointer[n + 1]`` (int64).
    columns
        The column of each entry (int32).
    values
        The entries (float32).
    """

    pointer: Int64s
    columns: Int32s
    values: Float32s


class Table(NamedTuple):
    """Observed entries of a table in both orders."""

    by_row: Entries
    by_column: Entries


class Tables(NamedTuple):
    """What is explained: A (users × items), X (users × aspects) and Y (items × aspects)."""

    ratings: Table
    attention: Table
    quality: Table


class Factors(NamedTuple):
    """What is learned: P, Q and V, float32, rows padded with zeros to whole groups.

    The first columns of P and Q, as many as V has, are explicit (U1, U2); the others latent.
    """

    users: Float32s
    items: Float32s
    aspects: Float32s


class Weights(NamedTuple):
    """Weights of the parts of the objective: λx, λy, λu, λh and λv."""

    attention: float
    quality: float
    explicit: float
    latent: float
    aspects: float


class Explained(NamedTuple):
    """A table that the rows of a block explain: entry (n, m) by row n and a partner's row m."""

    entries: Entries
    partners: Float32s
    weight: np.float32


class Block(NamedTuple):
    """Factors that are updated at once, the two tables they explain, and λ of each column."""

    own: Float32s
    first: Explained
    second: Explained
    norms: Float32s


def padded(width: int) -> int:
    """Return the number of columns that hold so many factors.

    Examples
    --------
    >>> [padded(width) for width in (0, 1, 8, 60)]
    [0, 8, 8, 64]
    """
    return -(-width // _GROUP) * _GROUP


def make_table(
    rows: Codes,
    columns: Codes,
    values: Float32s,
    shape: tuple[int, int],
) -> Table:
    """Sort the entries of a table of the given shape by row and by column."""

    def sort(keys: Codes, others: Codes, count: int) -> Entries:
        order, pointer = group_rows(keys.astype(np.int32), count)
        return Entries(pointer, others[order].astype(np.int32), values[order])

    return Table(sort(rows, columns, shape[0]), sort(columns, rows, shape[1]))


def observed_table(dense: Floats) -> Table:
    """Return the entries of a table that are not NaN."""
    rows, columns = np.nonzero(~np.isnan(dense))
    values = dense[rows, columns].astype(np.float32)
    return make_table(rows, columns, values, (dense.shape[0], dense.shape[1]))


def run_iterations(
    tables: Tables, factors: Factors, weights: Weights, count: int, threads: int | None = None
) -> Floats:
    """Update P, Q and V in turns, in place, and return the objective before each iteration.

    The objective is ‖P Qᵀ − A‖² + λx‖U1 Vᵀ − X‖² + λy‖U2 Vᵀ − Y‖² over what was observed, plus
    λu(‖U1‖² + ‖U2‖²) + λh(‖H1‖² + ‖H2‖²) + λv‖V‖². But for rounding, it never rises.
    """
    blocks = _blocks(tables, factors, weights)
    losses = np.zeros((count, len(blocks), TASKS, 3))
    counters = new_counters(count * len(blocks))
    run_on_threads(count_threads(threads), _run, blocks, losses, counters)
    users, items, aspects = losses.sum(axis=2).swapaxes(0, 1)
    # Of each part the first loss that was seen: a later one comes after an update.
    return users.sum(axis=1) + items[:, 1:].sum(axis=1) + aspects[:, 2]


def _blocks(tables: Tables, factors: Factors, weights: Weights) -> tuple[Block, Block, Block]:
    """Return P, Q and V, each with the tables it explains together with the other two."""
    P, Q, V = factors
    norms = np.full(P.shape[1], weights.latent, dtype=np.float32)
    norms[: V.shape[1]] = weights.explicit
    of_ratings = np.float32(1)
    of_attention, of_quality = np.float32(weights.attention), np.float32(weights.quality)
    return (
        Block(
            P,
            Explained(tables.ratings.by_row, Q, of_ratings),
            Explained(tables.attention.by_row, V, of_attention),
            norms,
        ),
        Block(
            Q,
            Explained(tables.ratings.by_column, P, of_ratings),
            Explained(tables.quality.by_row, V, of_quality),
            norms,
        ),
        Block(
            V,
            Explained(tables.attention.by_column, P, of_attention),
            Explained(tables.quality.by_column, Q, of_quality),
            np.full(V.shape[1], weights.aspects, dtype=np.float32),
        ),
    )


@cached
def _run(blocks: tuple[Block, Block, Block], losses: Floats, counters: Counters) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    phase = 0
    for iteration in range(losses.shape[0]):
        for b in range(len(blocks)):
            arguments = (blocks[b], losses[iteration, b])
            phase = share_tasks(counters, phase, TASKS, _update_rows, arguments)


@compiled
def _update_rows(arguments: tuple[Block, Floats], task: int) -> None:
    """Update the rows of one task out of `TASKS`, and sum up their losses before the update.

    These are the losses of both tables and the weighted norm of the rows.
    """
    block, losses_of_tasks = arguments
    losses = losses_of_tasks[task]
    own = block.own
    rows, width = own.shape
    numerator = np.empty((1, width), np.float32)
    denominator = np.empty((1, width), np.float32)
    sums = np.empty((1, QUAD), np.float32)
    for n in range(task * rows // TASKS, (task + 1) * rows // TASKS):
        for f in range(width):
            numerator[0, f] = 0
            denominator[0, f] = block.norms[f] * own[n, f]
        losses[2] += _dot(own, n, denominator, 0, width, sums)
        losses[0] += _explain(own, n, block.first, numerator, denominator, sums)
        losses[1] += _explain(own, n, block.second, numerator, denominator, sums)
        for f in range(width):
            below = max(denominator[0, f], _SMALLEST_DENOMINATOR)
            value = own[n, f] * np.sqrt(numerator[0, f] / below)
            own[n, f] = value if value >= _SMALLEST_FACTOR else np.float32(0)


@compiled
def _explain(
    own: Float32s,
    n: int,
    table: Explained,
    numerator: Float32s,
    denominator: Float32s,
    sums: Float32s,
) -> float:
    """Add what the entries of a row ask for, and return their weighted squared error."""
    entries, partners, weight = table.entries, table.partners, table.weight
    # A table of aspects is explained by the explicit factors alone.
    width = min(own.shape[1], partners.shape[1])
    loss = 0.0
    for m in range(entries.pointer[n], entries.pointer[n + 1]):
        partner, wanted = entries.columns[m], entries.values[m]
        predicted = _dot(own, n, partners, partner, width, sums)
        loss += weight * (predicted - wanted) ** 2
        _add(partners, partner, width, weight * wanted, numerator)
        _add(partners, partner, width, weight * predicted, denominator)
    return loss


@inlined
def _dot(a: Float32s, n: int, b: Float32s, m: int, width: int, sums: Float32s) -> np.float32:
    """Return the product of two rows of whole groups, summed in an order that registers keep."""
    low, high = empty_quad(), empty_quad()
    for f in range(0, width, _GROUP):
        low = low + load_quad(a, n, f) * load_quad(b, m, f)
        high = high + load_quad(a, n, f + QUAD) * load_quad(b, m, f + QUAD)
    store_quad(sums, 0, 0, low + high)
    return (sums[0, 0] + sums[0, 1]) + (sums[0, 2] + sums[0, 3])


@inlined
def _add(rows: Float32s, n: int, width: int, factor: np.float32, total: Float32s) -> None:
    for f in range(width):
        total[0, f] += factor * rows[n, f]
