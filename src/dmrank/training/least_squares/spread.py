"""Rows of a table of factors solved on the workers that there are, block by block.

A row depends on its observations and on what is held, so that a block of rows has the same bits
wherever it is solved. Observations are sent once; what is held, which changes with every sweep, is
sent once per sweep, and the rows come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.support.arrays import Float32s, Floats
from dmrank.support.workers import Workers, current_workers
from dmrank.training.least_squares.problem import Observed, Prior, Problem
from dmrank.training.least_squares.solve import minimise_rows, solve_rows

#: Rows that are solved by one task.
_ROWS_PER_BLOCK: Final = 16_384

#: Puts the solution into every row of a table, given the other factors, those of aspects, and S;
#: returns the sum of the minima.
SolveRows: TypeAlias = Callable[[Float32s, Float32s, Float32s, Floats], float]


def row_solver(observed: Observed, prior: Prior, threads: int | None) -> SolveRows:
    """Return what solves for all rows again and again, on workers if there are any.

    Parameters
    ----------
    observed, prior, threads
        See `solve.solve_rows`.
    """
    workers = current_workers()
    if workers is not None:
        return _Spread(workers, observed, prior)

    def solve(table: Float32s, others: Float32s, aspects: Float32s, shared: Floats) -> float:
        return solve_rows(table, observed, others, aspects, prior, shared=shared, threads=threads)

    return solve


class _Held(NamedTuple):
    """What is held while rows are solved for."""

    others: Float32s
    aspects: Float32s
    shared: Floats


class _Spread:
    """Solves for rows on workers, to which their observations are sent once."""

    def __init__(self, workers: Workers, observed: Observed, prior: Prior) -> None:
        self.workers = workers
        rows = len(observed.pointer) - 1
        starts = range(0, rows, _ROWS_PER_BLOCK)
        self.blocks = [slice(start, min(start + _ROWS_PER_BLOCK, rows)) for start in starts]
        self.parts: list[Any] = [
            workers.share(_part(observed, prior, block)) for block in self.blocks
        ]

    def __call__(
        self, table: Float32s, others: Float32s, aspects: Float32s, shared: Floats
    ) -> float:
        held = self.workers.share(_Held(others, aspects, shared))
        minima = np.empty(len(table))
        solved = self.workers.run(_solve_block, ((part, held) for part in self.parts))
        for block, (rows, least) in zip(self.blocks, solved, strict=True):
            table[block], minima[block] = rows, least
        # Added up as they are on one machine.
        return float(minima.sum())


def _part(observed: Observed, prior: Prior, block: slice) -> tuple[Observed, Prior]:
    """Return the observations and the prior of a block of rows."""
    pointer = observed.pointer[block.start : block.stop + 1]
    ratings = slice(pointer[0], pointer[-1])
    own = Observed(pointer - pointer[0], observed.others[ratings], observed.values[ratings])
    return own, Prior(prior.ridge[block], prior.centre)


def _solve_block(part: tuple[Observed, Prior], held: _Held) -> tuple[Float32s, Floats]:
    """Return the solutions of a block of rows, and their minima."""
    observed, prior = part
    table = np.zeros((len(prior.ridge), len(held.shared)), dtype=np.float32)
    problem = Problem(reading(observed), held.others, held.aspects, prior, held.shared)
    return table, minimise_rows(table, problem, None)
