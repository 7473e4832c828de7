"""From streamed id columns to dense codes, without keeping the columns."""

from __future__ import annotations

from typing import Final, final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.data.ids import Ids, IdType, Kind
from dmrank.support.arrays import Int32s, Int64s

_EMPTY: Final = -1


@final
class Indexer:
    """Gives each distinct id a code while a table streams through, batch by batch.

    Only the distinct ids are kept. Two ids are taken as equal if two independent 64-bit hashes
    of them are: among a billion distinct ids that goes wrong with probability 2·10⁻²¹.

    Examples
    --------
    >>> indexer = Indexer("user")
    >>> batches = [pl.Series(["bob", "ann"]), pl.Series(["bob", "cid"])]
    >>> codes = np.concatenate([indexer.add(batch) for batch in batches])
    >>> ids, final_code = indexer.finish()
    >>> list(ids), final_code[codes].tolist()
    (['ann', 'bob', 'cid'], [1, 0, 1, 2])
    """

    def __init__(self, kind: Kind, type_: IdType = "string") -> None:
        self._kind: Kind = kind
        self._type: IdType = type_
        self._names: list[pl.Series] = []
        self._count = 0
        self._slots = np.full(1 << 10, _EMPTY, dtype=np.int32)
        self._keys = np.empty((1 << 9, 2), dtype=np.uint64)

    def add(self, ids: pl.Series) -> Int32s:
        """Return preliminary codes (in the order of appearance) of a batch of ids."""
        hashes = (ids.hash(seed).to_numpy() for seed in (0, 1))
        keys = np.column_stack(tuple(hashes))
        self._reserve(self._count + len(keys))
        codes = np.empty(len(keys), dtype=np.int32)
        first_rows = np.empty(len(keys), dtype=np.int64)
        count = _assign_codes(keys, self._slots, self._keys, self._count, codes, first_rows)
        self._names.append(ids[first_rows[: count - self._count]])
        self._count = count
        return codes

    def finish(self) -> tuple[Ids, Int32s]:
        """Return the ids, and the final code of each preliminary one."""
        names = pl.concat(self._names) if self._names else pl.Series(dtype=pl.String)
        order = names.arg_sort().to_numpy()
        final_code = np.empty(len(order), dtype=np.int32)
        final_code[order] = np.arange(len(order), dtype=np.int32)
        return Ids.from_sorted(names[order], kind=self._kind, type_=self._type), final_code

    def _reserve(self, size: int) -> None:
        """Keep the hash table at most half full even if every new row has a new id."""
        if size > len(self._keys):
            capacity = 1 << int(np.ceil(np.log2(size)))
            keys = np.empty((capacity, 2), dtype=np.uint64)
            keys[: self._count] = self._keys[: self._count]
            self._keys = keys
            self._slots = np.full(2 * capacity, _EMPTY, dtype=np.int32)
            _insert_all(keys, self._count, self._slots)


@cached
def _assign_codes(
    batch: NDArray[np.uint64],
    slots: Int32s,
    keys: NDArray[np.uint64],
    count: int,
    codes: Int32s,
    first_rows: Int64s,
) -> int:
    """Look every key of the batch up in the open-addressing table, adding the new ones."""
    mask = np.uint64(len(slots) - 1)
    known = count
    for row in range(len(batch)):
        low, high = batch[row, 0], batch[row, 1]
        slot = low & mask
        while True:
            code = slots[slot]
            if code == _EMPTY:
                code = count
                slots[slot] = code
                keys[code, 0], keys[code, 1] = low, high
                first_rows[code - known] = row
                count += 1
                break
            if keys[code, 0] == low and keys[code, 1] == high:
                break
            slot = (slot + np.uint64(1)) & mask
        codes[row] = code
    return count


@cached
def _insert_all(keys: NDArray[np.uint64], count: int, slots: Int32s) -> None:
    mask = np.uint64(len(slots) - 1)
    for code in range(count):
        slot = keys[code, 0] & mask
        while slots[slot] != _EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = code
