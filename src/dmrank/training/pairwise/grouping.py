"""The entries of a batch grouped by user or by item, so that each row is updated once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.support.arrays import Int32s

# 2⁶⁴ over the golden ratio: the high bits of its products are a good hash (Knuth).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Groups(NamedTuple):
    """The entries of a batch grouped by key, each group a linked list.

    Attributes
    ----------
    keys
        The different keys, in order of first appearance.
    heads
        The last entry of each key.
    links
        For each entry the one before it with the same key, −1 at the end.
    sizes
        Number of entries of each key.
    totals
        Number of different keys, and number of entries in groups.
    """

    keys: Int32s
    heads: Int32s
    links: Int32s
    sizes: Int32s
    totals: Int32s


class Grouping(NamedTuple):
    """The samples of a batch grouped by user, and its items by item."""

    users: Groups
    items: Groups


def empty_grouping(batches: int, samples: int, items_per_sample: int) -> Grouping:
    """Return memory for the groups of batches, one row of each array per batch."""
    return Grouping(_empty(batches, samples), _empty(batches, samples * items_per_sample))


def _empty(batches: int, entries: int) -> Groups:
    shapes = [(batches, entries)] * 4 + [(batches, 2)]
    return Groups(*(np.empty(shape, dtype=np.int32) for shape in shapes))


@compiled
def groups_of(groups: Groups, batch: int) -> Groups:
    """Return the groups of one batch."""
    return Groups(
        groups.keys[batch],
        groups.heads[batch],
        groups.links[batch],
        groups.sizes[batch],
        groups.totals[batch],
    )


@compiled
def grouping_of(grouping: Grouping, batch: int) -> Grouping:
    """Return the grouping of one batch."""
    return Grouping(groups_of(grouping.users, batch), groups_of(grouping.items, batch))


@compiled
def group(keys: Int32s, groups: Groups) -> None:
    """Group the entries of a batch by their keys; an entry with key −1 is in no group.

    A hash table of twice the number of entries finds the group of a key, so that the cost does
    not depend on how many keys there could be.
    """
    bits = 1
    while (1 << bits) < 2 * keys.shape[0]:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    mask = (1 << bits) - 1
    count = 0
    grouped = 0
    for entry in range(keys.shape[0]):
        key = keys[entry]
        if key < 0:
            continue
        slot = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(64 - bits))
        while slots[slot] >= 0 and groups.keys[slots[slot]] != key:
            slot = (slot + 1) & mask
        index = slots[slot]
        if index < 0:
            index = count
            count += 1
            slots[slot] = index
            groups.keys[index] = key
            groups.heads[index] = -1
            groups.sizes[index] = 0
        groups.links[entry] = groups.heads[index]
        groups.heads[index] = entry
        groups.sizes[index] += 1
        grouped += 1
    groups.totals[0] = count
    groups.totals[1] = grouped
