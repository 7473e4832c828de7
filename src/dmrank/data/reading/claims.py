"""What a file says about its columns, held against what was read of them.

A damaged page without a checksum may still be read, as other values. That there are as many nulls
as the file says, and that the least and the greatest number are those that it names, finds most of
it at the cost of a look at each value.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import polars as pl

from dmrank.data.reading.parquet_pages import ColumnPart

Number = int | float | Decimal
#: How numbers may be stored in statistics, by their types: as `struct` names it.
_STORED: Mapping[type[pl.DataType], str] = {
    pl.Int8: "i", pl.Int16: "i", pl.Int32: "i", pl.Int64: "q", pl.Date: "i", pl.Datetime: "q",
    pl.UInt8: "I", pl.UInt16: "I", pl.UInt32: "I", pl.UInt64: "Q",
    pl.Float16: "e", pl.Float32: "ef", pl.Float64: "d",
}  # fmt: skip


class Claim(NamedTuple):
    """What is said of a column, None where nothing is: its nulls, and its least and most number."""

    nulls: int | None
    bounds: tuple[Number, Number] | None

    @classmethod
    def from_parts(cls, parts: Sequence[ColumnPart], type_: pl.DataType) -> Claim:
        """Join what is said of the parts of a column."""
        nulls = [part.nulls for part in parts if part.nulls is not None]
        bounds = [_bounds(part, type_) for part in parts]
        known = [each for each in bounds if each is not None]
        whole = len(known) == len(parts) > 0
        return cls(
            sum(nulls) if len(nulls) == len(parts) else None,
            (min(low for low, _ in known), max(high for _, high in known)) if whole else None,
        )


def _bounds(part: ColumnPart, type_: pl.DataType) -> tuple[Number, Number] | None:
    low, high = (_number(bound, type_, part.in_bytes) for bound in part.bounds or (b"", b""))
    return None if low is None or high is None else (low, high)


def _number(bound: bytes, type_: pl.DataType, in_bytes: bool) -> Number | None:
    if isinstance(type_, pl.Decimal) and in_bytes:
        return Decimal(int.from_bytes(bound, "big", signed=True)).scaleb(-type_.scale)
    for stored in _STORED.get(type(type_), ""):
        if len(bound) == struct.calcsize(stored):
            number: Number = struct.unpack("<" + stored, bound)[0]
            return number
    return None


class Tally:
    """Counts nulls and notes the bounds of a column, part by part, as it was read.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(pl.Series([4.0, None, 3.5]))
    >>> tally.fits(Claim(nulls=1, bounds=(3.5, 4.0))), tally.fits(Claim(nulls=0, bounds=None))
    (True, False)
    """

    def __init__(self) -> None:
        self._nulls = 0
        self._ends: list[pl.Series] = []

    def add(self, column: pl.Series) -> None:
        """Take some more rows."""
        self._nulls += column.null_count()
        if column.dtype.is_temporal():
            column = column.to_physical()
        if column.dtype.is_numeric():
            self._ends.append(pl.Series([column.min(), column.max()], dtype=column.dtype))

    def fits(self, claim: Claim) -> bool:
        """Return whether all that was taken can be what is claimed."""
        if claim.nulls is not None and claim.nulls != self._nulls:
            return False
        if claim.bounds is None or not self._ends:
            return True
        seen = pl.concat(self._ends)
        said = pl.Series(list(claim.bounds)).cast(seen.dtype)
        return bool(seen.min() == said[0] and seen.max() == said[1])
