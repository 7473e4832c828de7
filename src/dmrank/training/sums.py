"""Sums over rows in an order that neither threads nor machines change.

Rows are added up in blocks of 65,536, and blocks in their order. Some sums take a block in parts,
so that threads can share it; the parts of a block are added up when all are there. Whoever works on
them, here or elsewhere, a sum has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Floats, Int64s

#: Rows of a block.
BLOCK: Final = 65_536

Sum = TypeVar("Sum", bound=Any)


def blocks_of(rows: int) -> list[slice]:
    """Return the blocks of a table, at least one.

    Examples
    --------
    >>> blocks_of(100_000), blocks_of(0)
    ([slice(0, 65536, None), slice(65536, 100000, None)], [slice(0, 0, None)])
    """
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, max(rows, 1), BLOCK)]


def add_up(sums: Iterable[Sum]) -> Sum:
    """Return the sum of what blocks have added up, in their order.

    Examples
    --------
    >>> add_up([1.0, 2.0, 4.0])
    7.0
    """
    left = iter(sums)
    total = next(left)
    for each in left:
        total = total + each
    return total


Sums = TypeVar("Sums", bound=tuple[Any, ...])


def sum_blocks(blocks: Iterable[Sums]) -> Sums:
    """Return the sum of named tuples of sums, one of each block, in their order."""
    found = list(blocks)
    first = found[0]
    return type(first)(*map(add_up, zip(*found, strict=True)))


def total(values: Floats) -> float:
    """Return the sum of numbers.

    Examples
    --------
    >>> total(np.array([1.0, 2.0]))
    3.0
    """
    return add_up(float(values[block].sum()) for block in blocks_of(len(values)))


class Piece(NamedTuple):
    """Parts of a block that follow each other: what one task works on.

    Attributes
    ----------
    block : int
        The number of the block.
    bounds : int64 array
        Part p has the rows ``bounds[p]`` to ``bounds[p + 1]`` of the table.
    """

    block: int
    bounds: Int64s

    @property
    def rows(self) -> slice:
        """The rows of all parts."""
        return slice(int(self.bounds[0]), int(self.bounds[-1]))

    def shifted(self) -> Self:
        """Return the same parts of a table that begins with them."""
        return self._replace(bounds=self.bounds - self.bounds[0])


def whole_blocks(rows: int, parts: int) -> Iterator[Piece]:
    """Return each block as one piece of so many parts, or fewer if it has fewer rows.

    Examples
    --------
    >>> [piece.bounds.tolist() for piece in whole_blocks(7, parts=3)]
    [[0, 3, 6, 7]]
    """
    for number, block in enumerate(blocks_of(rows)):
        size = block.stop - block.start
        starts = np.arange(block.start, block.stop, max(-(-size // parts), 1), dtype=np.int64)
        yield Piece(number, np.append(starts, block.stop))


def for_parts(
    work: Callable[[tuple[int, int, int]], None], piece: Piece, threads: int | None
) -> None:
    """Call ``work((start, stop, part))`` for the rows of each part of a piece, on threads.

    Examples
    --------
    >>> for_parts(print, Piece(0, np.array([0, 3, 5])), threads=1)
    (0, 3, 0)
    (3, 5, 1)
    """
    bounds = piece.bounds.tolist()
    for_ranges(
        lambda part, after: work((bounds[part], bounds[after], part)),
        len(bounds) - 1,
        1,
        threads,
    )


def pieces(rows: int, parts: int, weights: Int64s | None, most: int) -> Iterator[Piece]:
    """Cut blocks between their parts, into pieces of about so much work.

    Parameters
    ----------
    rows, parts : int
        See `whole_blocks`.
    weights : int64 array, rows + 1, or None
        How much work the rows before each one are, such as their ratings; None: one each.
    most : int
        The most work of a piece; a part that has more is a piece of its own.

    Examples
    --------
    >>> cut = pieces(7, 7, np.array([0, 1, 2, 9, 10, 11, 12, 13]), most=4)
    >>> [piece.bounds.tolist() for piece in cut]
    [[0, 1, 2], [2, 3], [3, 4, 5, 6, 7]]
    """
    for block in whole_blocks(rows, parts):
        done = block.bounds if weights is None else weights[block.bounds]
        first = 0
        for part in range(1, len(done)):
            is_last = part == len(done) - 1
            if is_last or done[part + 1] - done[first] > most:
                yield Piece(block.block, block.bounds[first : part + 1])
                first = part


def stacked(parts: Sequence[Floats], count: int) -> Floats:
    """Return the sums of all parts of a block, one after the other, from those of its pieces.

    A sum over parts is taken over as many as a block can have: that of fewer has other last bits.

    Examples
    --------
    >>> stacked([np.ones((2, 1)), np.ones((1, 1))], 4).ravel().tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    found = np.zeros((count, *parts[0].shape[1:]))
    np.concatenate(parts, out=found[: sum(map(len, parts))])
    return found
