"""Lists of items, one per user, in the flat layout that the kernels take."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.support.arrays import Codes, Int32s, Int64s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ItemLists(NamedTuple):
    """The list of user u is ``items[pointer[u]:pointer[u + 1]]``, ascending, each item once."""

    pointer: Int64s
    items: Int32s

    def of(self, start: int, stop: int) -> ItemLists:
        """Return the lists of a range of the users."""
        pointer = self.pointer[start : stop + 1]
        return ItemLists(pointer - pointer[0], self.items[pointer[0] : pointer[-1]])


def item_lists(
    name: str, pointer: ArrayLike, items: ArrayLike, n_users: int, n_items: int
) -> ItemLists:
    """Check lists before a kernel reads memory by them.

    Parameters
    ----------
    name
        What the lists are called in an error.
    pointer, items
        The flat layout.
    n_users, n_items
        How many lists there must be, and how many items there are.

    Examples
    --------
    >>> item_lists("seen", [0, 2, 2], [0, 7], n_users=2, n_items=5)
    Traceback (most recent call last):
    ...
    dmrank.DataError: seen items hold code 7: there are 5 items, from 0
    """
    bounds = np.asarray(pointer, dtype=np.int64)
    codes = np.asarray(items, dtype=np.int32)
    if len(bounds) != n_users + 1:
        raise DataError(
            f"{name} pointer of length {len(bounds)} for {n_users} users: give {n_users + 1}"
        )
    if bounds[0] < 0 or bounds[-1] > len(codes) or (bounds[1:] < bounds[:-1]).any():
        raise DataError(f"{name} pointer does not ascend from 0 to at most {len(codes)}")
    used = codes[bounds[0] : bounds[-1]]
    for code in (used.min(initial=0), used.max(initial=0)):
        if not 0 <= code < max(n_items, 1):
            raise DataError(f"{name} items hold code {code}: there are {n_items} items, from 0")
    if not _ascend(used, bounds - bounds[0]):
        raise DataError(f"{name} items of a user do not ascend: sort them and name each once")
    return ItemLists(bounds, codes)


def _ascend(items: Int32s, pointer: Int64s) -> bool:
    ascends = items[1:] > items[:-1]
    starts = pointer[(pointer > 0) & (pointer < len(items))]
    ascends[starts - 1] = True
    return bool(ascends.all())


def lists_of(pointer: Int64s, items: Int32s, users: Codes) -> ItemLists:
    """Return the lists of some users, in the same layout.

    Examples
    --------
    >>> lists_of(np.array([0, 2, 2, 3]), np.array([4, 5, 6]), np.array([2, 0]))
    ItemLists(pointer=array([0, 1, 3]), items=array([6, 4, 5]))
    """
    counts = pointer[users + 1] - pointer[users]
    ends = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(pointer[users] - ends[:-1], counts) + np.arange(ends[-1])
    return ItemLists(ends, items[rows])
