"""Ratings in files that all workers see, by user and by item, for fits that are spread over them.

A task reads the ratings of its range of users or items, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from dmrank.data.rows import group_rows
from dmrank.support.arrays import Array, Codes, Int32s, Int64s
from dmrank.support.shared_tables import SharedTable
from dmrank.training.data import RowValues

#: Rows that are put into the order of their items at once.
_AT_ONCE: Final = 1 << 16
#: The most ratings, and the most rows of a table, that one task works on.
MOST_RATINGS: Final = 1 << 18
_MOST_ROWS: Final = 1 << 14

#: Something of each rating: an array, or what makes the rows that are asked for.
Rows: TypeAlias = Array | RowValues


class Group(NamedTuple):
    """The ratings of a range of users (or items), as a table of their own.

    Attributes
    ----------
    pointer : int64 array
        Where those of each begin, from 0 on.
    others : int32 array
        The item (or user) of each.
    columns : tuple of arrays
        What else there is of each.
    """

    pointer: Int64s
    others: Int32s
    columns: tuple[Array, ...]

    def compact(self) -> tuple[Int32s, Group]:
        """Return the others that are met, ascending, and the same ratings with their places."""
        met, places = np.unique(self.others, return_inverse=True)
        return met, self._replace(others=places.reshape(-1).astype(np.int32))


class GroupedFiles(NamedTuple):
    """Ratings in the order of their users (or items)."""

    pointer: SharedTable
    others: SharedTable
    columns: tuple[SharedTable, ...]

    def read(self, rows: slice) -> Group:
        """Return the ratings of a range of users (or items)."""
        pointer = self.pointer.read(slice(rows.start, rows.stop + 1))
        ratings = slice(int(pointer[0]), int(pointer[-1]))
        columns = tuple(column.read(ratings) for column in self.columns)
        return Group(pointer - pointer[0], self.others.read(ratings), columns)

    def take(self, codes: Codes) -> Group:
        """Return the ratings of some users (or items)."""
        starts, stops = self.pointer.take(codes), self.pointer.take(codes + 1)
        counts = stops - starts
        pointer = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ratings = np.repeat(starts - pointer[:-1], counts) + np.arange(pointer[-1])
        columns = tuple(column.take(ratings) for column in self.columns)
        return Group(pointer, self.others.take(ratings), columns)


class RatingFiles(NamedTuple):
    """Ratings by user and by item."""

    by_user: GroupedFiles
    by_item: GroupedFiles


class WrittenRatings(NamedTuple):
    """Files of ratings, for tasks, and where those of each user and item begin, for who cuts them.

    Attributes
    ----------
    of_tasks : RatingFiles
        What tasks are given.
    user_pointer, item_pointer : int64 arrays
        How many ratings the users (or items) before each one have.
    """

    of_tasks: RatingFiles
    user_pointer: Int64s
    item_pointer: Int64s

    @property
    def by_user(self) -> GroupedFiles:
        """Ratings in the order of their users."""
        return self.of_tasks.by_user

    @property
    def by_item(self) -> GroupedFiles:
        """Ratings in the order of their items."""
        return self.of_tasks.by_item


def write_ratings(
    folder: Path, pointer: Int64s, items: Codes, n_items: int, *columns: Rows
) -> WrittenRatings:
    """Write ratings, which are in the order of their users, into a folder.

    Parameters
    ----------
    folder : Path
        Where; it exists.
    pointer, items : int arrays
        Items of user u are ``items[pointer[u]:pointer[u + 1]]``.
    n_items : int
        Number of items.
    *columns : arrays, or what makes their rows
        What else there is of each rating.
    """
    order, item_pointer = group_rows(items, n_items)
    by_user = _files(folder, "user", pointer, len(items), columns)
    by_item = _files(folder, "item", item_pointer, len(items), columns)
    for start in range(0, len(items), _AT_ONCE):
        own = slice(start, start + _AT_ONCE)
        by_user.others.write(start, items[own])
        rows = order[own]
        users = np.searchsorted(pointer, rows, side="right") - 1
        by_item.others.write(start, users)
        for number, column in enumerate(columns):
            by_user.columns[number].write(start, column[own])
            by_item.columns[number].write(start, column[rows])
    return WrittenRatings(RatingFiles(by_user, by_item), pointer, item_pointer)


def _files(
    folder: Path, name: str, pointer: Int64s, ratings: int, columns: tuple[Rows, ...]
) -> GroupedFiles:
    return GroupedFiles(
        SharedTable.holding(folder / f"{name}-pointer", pointer.astype(np.int64)),
        SharedTable.create(folder / f"{name}-others", np.int32, (ratings,)),
        tuple(
            SharedTable.create(
                folder / f"{name}-column-{n}", column.dtype, (ratings, *column.shape[1:])
            )
            for n, column in enumerate(columns)
        ),
    )


def ranges(pointer: Int64s, most_rows: int = _MOST_ROWS) -> Iterator[slice]:
    """Cut users (or items) into ranges for one task each, by how many ratings they have.

    Examples
    --------
    >>> list(ranges(np.array([0, 10, 20])))
    [slice(0, 2, None)]
    """
    start, rows = 0, len(pointer) - 1
    while start < rows:
        within = int(np.searchsorted(pointer, pointer[start] + MOST_RATINGS, side="right")) - 1
        stop = min(max(within, start + 1), start + most_rows, rows)
        yield slice(start, stop)
        start = stop
