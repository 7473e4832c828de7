"""Alternating least squares: every row of a table of factors solved exactly, the others held.

A row x that minimises Σ (y − x·z)² + xᵀSx + ρ‖x − c‖² over its observations (z, y) solves
(Σ z zᵀ + S + ρI) x = Σ y z + ρc (see `equations`).

Rows do not depend on each other, and sums over all rows are taken part by part in a fixed order:
the number of threads changes no bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Float32s, Floats
from dmrank.training.least_squares.equations import add_ratings, products, solve, solve_range, start
from dmrank.training.least_squares.problem import Observed, Prior, Problem
from dmrank.training.sums import add_up, blocks_of, total

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData


# Enough to keep threads busy although some rows have a thousand times the observations of others.
_ROWS_PER_TASK = 32
# Parts of a sum over all ratings: a number that no number of threads changes.
_PARTS = 64


def solve_rows(
    table: Float32s,
    observed: Observed,
    others: Float32s,
    aspects: Float32s,
    prior: Prior,
    *,
    shared: Floats | None = None,
    threads: int | None = None,
) -> float:
    """Put the least-squares solution into every row of a table of factors.

    Row x minimises Σ_(o,k) (y_ok − Σ_f x_f others_of aspects_kf)² + xᵀSx + ρ‖x − c‖² over its
    observed values.

    Parameters
    ----------
    table
        What is solved for; its former content does not matter.
    observed
        The values y, grouped by the rows of `table`.
    others, aspects
        The factors that are held.
    prior
        ρ and c.
    shared
        S, the same for all rows; by default 0.
    threads
        Number of threads; by default every core.

    Returns
    -------
    float
        The sum of the minima.

    Examples
    --------
    >>> mean, one = np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32)
    >>> values = np.array([[4], [5]], np.float32)
    >>> observed = Observed(np.array([0, 2]), np.array([0, 0], np.int32), values)
    >>> round(solve_rows(mean, observed, one, one, Prior(np.ones(1), np.zeros(1))), 6)
    14.0
    >>> mean
    array([[3.]], dtype=float32)
    """
    if shared is None:
        shared = np.zeros((table.shape[1], table.shape[1]))
    problem = Problem(observed, others, aspects, prior, shared)
    return total(minimise_rows(table, problem, threads))


def minimise_rows(table: Float32s, problem: Problem, threads: int | None) -> Floats:
    """Put the solution into every row of a table, and return the minimum of each."""
    minima = np.empty(len(table))
    for_ranges(
        lambda first, last: solve_range(first, last, table, problem, minima),
        len(table),
        _ROWS_PER_TASK,
        threads,
    )
    return minima


def solve_aspects(
    aspects: Float32s,
    data: TrainingData,
    users: Float32s,
    items: Float32s,
    prior: Prior,
    *,
    threads: int | None = None,
) -> float:
    """Put the least-squares solution into every row of the factors of aspects.

    Row k minimises Σ_(u,i) (y_uik − Σ_f users_uf items_if x_f)² + ρ‖x − c‖². An aspect has as
    many observations as there are ratings, so that they are shared out among threads in parts.

    Returns
    -------
    float
        The sum of the minima.
    """
    factors = aspects.shape[1]
    size = factors + 1
    per_part = -(-len(data.items) // _PARTS)
    parts = np.zeros((_PARTS, len(aspects), size, size))
    for_ranges(
        lambda first, last: add_ratings(first, last, data, users, items, parts[first // per_part]),
        len(data.items),
        per_part,
        threads,
    )
    equations = np.zeros((size, size))
    least = 0.0
    for k, sums in enumerate(parts.sum(axis=0)):
        start(equations, np.zeros((factors, factors)), prior, k)
        least += solve(equations + sums, aspects[k])
    return least


def gram(table: Float32s, threads: int | None = None) -> Floats:
    """Return Σ_r x_r x_rᵀ over the rows of a table, in double precision.

    Examples
    --------
    >>> gram(np.array([[1, 2], [0, 3]], np.float32))
    array([[ 1.,  2.],
           [ 2., 13.]])
    """
    blocks = blocks_of(len(table))
    lower = np.zeros((len(blocks), table.shape[1], table.shape[1]))

    def add(number: int, _: int) -> None:
        lower[number] = products(table[blocks[number]])

    for_ranges(add, len(blocks), 1, threads)
    return mirrored(add_up(lower))


def mirrored(lower: Floats) -> Floats:
    """Return a symmetric matrix from its lower triangle."""
    return lower + np.tril(lower, -1).T
