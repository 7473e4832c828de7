"""Two tables of factors solved in turns, here or on the workers that there are.

Given V each row of U is solved on its own, given U each row of V: a range of rows has the same bits
wherever it is solved. U may be larger than any machine bears. On workers it lies in a file, of
which a task for users writes its rows, and a task for items reads those of who rated them; what
follows from V alone, U, is no part of a run's state.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.support.arrays import Float32s, Floats, Int32s, Int64s
from dmrank.support.shared_tables import SharedTable
from dmrank.support.workers import LIBRARIES, Workers, current_workers
from dmrank.training.data import training_data
from dmrank.training.least_squares.equations import products
from dmrank.training.least_squares.problem import Observed, Prior, Problem, by_item, by_user
from dmrank.training.least_squares.solve import gram, minimise_rows, mirrored, solve_rows
from dmrank.training.rating_files import MOST_RATINGS, GroupedFiles, ranges, write_ratings
from dmrank.training.sums import add_up, blocks_of, total


class Solved(NamedTuple):
    """What is known of U when all of its rows are solved.

    Attributes
    ----------
    gram : float array
        Σ x xᵀ over its rows.
    cost : float
        What its prior costs.
    """

    gram: Floats
    cost: float


class Alternation(Protocol):
    """Solves for U given V, and for V given U."""

    def solve_users(self, items: Float32s, shared: Floats) -> Solved:
        """Solve for every row of U, given V and S."""

    def solve_items(self, items: Float32s, shared: Floats) -> float:
        """Put the solution into every row of V; return the sum of the minima."""

    def users(self) -> Float32s:
        """Return U, all of it; it may be mapped from a file."""


class Rated(NamedTuple):
    """Who rated what: items of user u are ``items[pointer[u]:pointer[u + 1]]``."""

    pointer: Int64s
    items: Int32s
    n_items: int


def alternation(rated: Rated, priors: tuple[Prior, Prior], threads: int | None) -> Alternation:
    """Return what solves for U and V again and again, on workers if there are any.

    Parameters
    ----------
    rated : Rated
        What was observed: a one for each rating.
    priors : pair of Prior
        Of U and of V.
    threads : int or None
        Number of threads.
    """
    workers = current_workers()
    if workers is not None:
        return _There(workers, rated, *priors)
    return _Here(rated, *priors, threads)


def _one(factors: int) -> Float32s:
    return np.ones((1, factors), dtype=np.float32)


class _Here:
    """Both tables in the memory of this process."""

    def __init__(
        self, rated: Rated, user_prior: Prior, item_prior: Prior, threads: int | None
    ) -> None:
        pointer, items, n_items = rated
        data = training_data(pointer, items, _ones(len(items)), n_items)
        self.of_users, self.of_items = by_user(data), by_item(data)
        self.user_prior, self.item_prior, self.threads = user_prior, item_prior, threads
        factors = len(user_prior.centre)
        self.table = np.zeros((len(user_prior.ridge), factors), dtype=np.float32)
        self.one = _one(factors)

    def solve_users(self, items: Float32s, shared: Floats) -> Solved:
        self._solve(self.table, self.of_users, items, self.user_prior, shared)
        return Solved(gram(self.table, self.threads), self.user_prior.cost(self.table))

    def solve_items(self, items: Float32s, shared: Floats) -> float:
        return self._solve(items, self.of_items, self.table, self.item_prior, shared)

    def _solve(
        self, table: Float32s, observed: Observed, others: Float32s, prior: Prior, shared: Floats
    ) -> float:
        return solve_rows(
            table, observed, others, self.one, prior, shared=shared, threads=self.threads
        )

    def users(self) -> Float32s:
        return self.table


class _There:
    """V in the memory of this process, U in a file, and who rated what in files as well."""

    def __init__(
        self, workers: Workers, rated: Rated, user_prior: Prior, item_prior: Prior
    ) -> None:
        self.workers, self.user_prior, self.item_prior = workers, user_prior, item_prior
        factors, n_items = len(user_prior.centre), len(item_prior.ridge)
        # V, the rows of who rated a range of items, and what Python and its libraries take.
        needed = 4 * factors * (n_items + MOST_RATINGS) + LIBRARIES
        workers.check_memory(needed, f"{factors} factors of {n_items:,} items")
        self.folder: Path = workers.new_folder()
        self.files = write_ratings(self.folder, *rated)
        self.sweeps = 0
        self.held: SharedTable | None = None
        self.table: SharedTable | None = None

    def solve_users(self, items: Float32s, shared: Floats) -> Solved:
        # Of another name each time: a task that was given up may still be writing.
        self.sweeps += 1
        for outlived in (self.held, self.table):
            if outlived is not None:
                outlived.remove()
        held = SharedTable.holding(self.folder / f"items-{self.sweeps}", items)
        shape = len(self.user_prior.ridge), items.shape[1]
        table = SharedTable.create(self.folder / f"users-{self.sweeps}", np.float32, shape)
        calls = (
            (self.files.by_user, rows, held, _part(self.user_prior, rows), shared, table)
            for rows in ranges(self.files.user_pointer)
        )
        for _ in self.workers.run(_write_users, calls):
            pass
        blocks = [(table, rows, _part(self.user_prior, rows)) for rows in blocks_of(len(table))]
        sums = list(self.workers.run(_sum_block, blocks))
        self.held, self.table = held, table
        return Solved(
            mirrored(add_up(lower for lower, _ in sums)), add_up(cost for _, cost in sums)
        )

    def solve_items(self, items: Float32s, shared: Floats) -> float:
        assert self.table is not None
        cut = list(ranges(self.files.item_pointer))
        calls = (
            (self.files.by_item, rows, self.table, _part(self.item_prior, rows), shared)
            for rows in cut
        )
        minima = np.empty(len(items))
        for rows, (solved, least) in zip(cut, self.workers.run(_solve_items, calls), strict=True):
            items[rows], minima[rows] = solved, least
        return total(minima)

    def users(self) -> Float32s:
        assert self.table is not None
        return self.table.mapped()


def _part(prior: Prior, rows: slice) -> Prior:
    return Prior(prior.ridge[rows], prior.centre)


# What follows runs on workers.


@lru_cache(maxsize=1)
def _held(table: SharedTable) -> Float32s:
    """Return V, which all tasks of a sweep read."""
    return table.read(slice(None))


def _write_users(
    files: GroupedFiles,
    rows: slice,
    held: SharedTable,
    prior: Prior,
    shared: Floats,
    table: SharedTable,
) -> None:
    group = files.read(rows)
    solved, _ = _solve(Observed(*group[:2], _ones(len(group.others))), _held(held), prior, shared)
    table.write(rows.start, solved)


def _solve_items(
    files: GroupedFiles, rows: slice, table: SharedTable, prior: Prior, shared: Floats
) -> tuple[Float32s, Floats]:
    """Return the rows of some items, and their minima."""
    users, group = files.read(rows).compact()
    observed = Observed(*group[:2], _ones(len(group.others)))
    return _solve(observed, table.take(users), prior, shared)


def _solve(
    observed: Observed, others: Float32s, prior: Prior, shared: Floats
) -> tuple[Float32s, Floats]:
    table = np.zeros((len(prior.ridge), len(shared)), dtype=np.float32)
    one = _one(len(shared))
    # What was sent cannot be written: compiled code has one kind of each.
    given = Prior(np.array(prior.ridge), np.array(prior.centre))
    problem = Problem(reading(observed), others, one, given, np.array(shared))
    return table, minimise_rows(table, problem, None)


def _sum_block(table: SharedTable, rows: slice, prior: Prior) -> tuple[Floats, float]:
    """Return the lower triangle of Σ x xᵀ over the rows of a block, and what they cost."""
    own = table.read(rows)
    return products(own), prior.cost(own)


def _ones(ratings: int) -> Float32s:
    return np.ones((ratings, 1), dtype=np.float32)
