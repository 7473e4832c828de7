"""What items have in common, here or on the workers that there are: a range of items each.

The row of an item in XᵀX is a sum over the users who rated it, in their order. A task reads these
users and what they have rated, and no others, and has the bits of one machine. What needs all rows
at once, the inverse, is done by one worker that has the memory for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dmrank.ranking.top_n import TopN, no_items
from dmrank.support.arrays import Array, Codes, Float32s, Int64s
from dmrank.support.large_arrays import large_array
from dmrank.support.shared_tables import SharedTable
from dmrank.support.workers import current_workers
from dmrank.training.least_squares.cooccurrence import (
    RatedRange,
    by_rows,
    find_neighbours,
    popularity_held_back,
    rated_range,
)
from dmrank.training.least_squares.item_regression import SparseRows, add_rows, gram
from dmrank.training.least_squares.regression import Regressed, Ridge, regress_on_others
from dmrank.training.rating_files import RatingFiles, ranges, write_ratings

#: The most numbers of XᵀX that a task adds up at once: 64 MB.
_MOST_PRODUCTS: Final = 1 << 24
#: Times the matrix that its inverse takes: LAPACK works in its place, and weights are pruned in it.
_ROOM: Final = 1.25


def regress_items(
    rows: SparseRows,
    n_items: int,
    ridge: Ridge,
    weights_per_item: int | None,
    threads: int | None,
    *,
    is_checked: bool = False,
) -> Regressed:
    """Regress every item on all others, on workers if there are any.

    Parameters
    ----------
    rows : SparseRows
        X.
    n_items : int
        Number of items.
    ridge, weights_per_item, threads
        See `regression.regress_on_others`.
    is_checked : bool
        Whether a λ that rounding would hide is refused.
    """
    workers, shape = current_workers(), (ridge, weights_per_item, is_checked)
    if workers is None:
        return _regressed(gram(rows, n_items, threads), *shape, threads)
    needed = int(_ROOM * 4 * n_items**2)
    workers.check_memory(needed, f"the inverse of a matrix of {n_items:,} items", alone=True)
    folder = workers.new_folder()
    files = write_ratings(folder, rows.pointer, rows.items, n_items, rows.values)
    together = SharedTable.create(folder / "together", np.float32, (n_items, n_items))
    cut = ranges(files.item_pointer, max(_MOST_PRODUCTS // n_items, 1))
    for _ in workers.run(_add_range, ((_Range(own, files.of_tasks), together) for own in cut)):
        pass
    found = workers.run_large(_regress, (folder, together, *shape), needed)
    together.remove()
    return found.opened()


def _regressed(
    products: Float32s,
    ridge: Ridge,
    weights_per_item: int | None,
    is_checked: bool,
    threads: int | None,
) -> Regressed:
    if is_checked:
        ridge.check_precision(products)
    return regress_on_others(products, ridge, weights_per_item, threads)


def cooccurrence(
    pointer: Int64s,
    items: Codes,
    n_items: int,
    *,
    exponent: float,
    neighbours: int,
    threads: int | None,
) -> SparseRows:
    """Return B of `cooccurrence`, row by row with ascending columns, from workers if there are any.

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
    held_back = popularity_held_back(items, n_items, exponent)
    workers = current_workers()
    if workers is None:
        kept = no_items(n_items, neighbours)
        find_neighbours(0, rated_range(pointer, items, n_items), held_back, kept, threads)
        return by_rows(kept)
    folder = workers.new_folder()
    files = write_ratings(folder, pointer, items, n_items)
    table = SharedTable.holding(folder / "held-back", held_back)
    cut, shape = list(ranges(files.item_pointer)), (n_items, neighbours)
    kept = TopN(large_array(shape, np.int32), large_array(shape, np.float32))
    calls = ((_Range(own, files.of_tasks), table, neighbours) for own in cut)
    for own, found in zip(cut, workers.run(_find_range, calls), strict=True):
        kept.items[own], kept.scores[own] = found
    return by_rows(kept)


class _Range(NamedTuple):
    """A range of items, and where their ratings are."""

    items: slice
    files: RatingFiles


class _Written(NamedTuple):
    """Weights in files: dense, or the three arrays of sparse rows."""

    tables: tuple[SharedTable, ...]
    lost: float

    def opened(self) -> Regressed:
        """Map the weights; they stay when the files are removed."""
        arrays = [table.mapped() for table in self.tables]
        for table in self.tables:
            table.remove()
        weights = arrays[0] if len(arrays) == 1 else SparseRows(*arrays)
        return Regressed(weights, self.lost)


# What follows runs on workers.


def _add_range(own: _Range, together: SharedTable) -> None:
    """Add up the rows of XᵀX of some items, and write them."""
    users, columns = own.files.by_item.read(own.items).compact()
    rows = own.files.by_user.take(users)
    products = np.zeros((len(columns.pointer) - 1, together.shape[1]), dtype=np.float32)
    add_rows(_sparse(columns), _sparse(rows), products)
    together.write(own.items.start, products)


def _sparse(group: tuple[Int64s, Codes, tuple[Float32s, ...]]) -> SparseRows:
    pointer, others, (values,) = group
    return SparseRows(pointer, others, values)


def _regress(
    folder: Path,
    together: SharedTable,
    ridge: Ridge,
    weights_per_item: int | None,
    is_checked: bool,
) -> _Written:
    """Turn XᵀX into weights, and write them."""
    products = together.read(slice(None))
    weights, lost = _regressed(products, ridge, weights_per_item, is_checked, None)
    arrays: tuple[Array, ...] = (weights,) if isinstance(weights, np.ndarray) else weights
    return _Written(
        tuple(SharedTable.holding(folder / f"weights-{n}", each) for n, each in enumerate(arrays)),
        lost,
    )


def _find_range(own: _Range, held_back: SharedTable, neighbours: int) -> TopN:
    """Find the neighbours of some items."""
    users, columns = own.files.by_item.read(own.items).compact()
    rows = own.files.by_user.take(users)
    kept = no_items(len(columns.pointer) - 1, neighbours)
    rated = RatedRange(columns.pointer, columns.others, rows.pointer, rows.others)
    find_neighbours(own.items.start, rated, held_back.read(slice(None)), kept, None)
    return kept
