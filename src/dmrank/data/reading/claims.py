"""What a file says about its columns, held against what was read of them.

A damaged page without a checksum may still be read, as other values. That there are as many nulls
as the file says, and that the least and the greatest number are those that it names, finds most of
it at the cost of a look at each value.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import polars as pl

from dmrank.data.reading.parquet_pages import (
    ColumnPart,
    DamagedError,
    RowGroup,
    check_pages,
)

#: A least or a greatest value.
Bound = int | float | Decimal | str
#: How numbers may be stored in statistics, by their types: as `struct` names it.
_STORED: Mapping[type[pl.DataType], str] = {
    pl.Int8: "i", pl.Int16: "i", pl.Int32: "i", pl.Int64: "q", pl.Date: "i", pl.Datetime: "q",
    pl.UInt8: "I", pl.UInt16: "I", pl.UInt32: "I", pl.UInt64: "Q",
    pl.Float16: "e", pl.Float32: "ef", pl.Float64: "d",
}  # fmt: skip
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


class Claim(NamedTuple):
    """What is said of a column, None where nothing is: its nulls, its least and its most value."""

    nulls: int | None
    least: Bound | None
    most: Bound | None

    @classmethod
    def from_part(cls, part: ColumnPart, type_: pl.DataType) -> Claim:
        """Read the statistics of a column."""
        least, most = part.bounds or (b"", b"")
        numbers = (_bound(bound, type_, part.in_bytes) for bound in (least, most))
        return cls(part.nulls, *numbers)


class Claims(NamedTuple):
    """What is said of the columns in the next so many rows."""

    rows: int
    columns: dict[str, Claim]

    @classmethod
    def from_group(cls, group: RowGroup, schema: Mapping[str, pl.DataType]) -> Claims:
        """Read the statistics of a row group."""
        known = {name: part for name, part in group.columns.items() if name in schema}
        return cls(
            group.rows,
            {name: Claim.from_part(part, schema[name]) for name, part in known.items()},
        )


def _bound(bound: bytes, type_: pl.DataType, in_bytes: bool) -> Bound | None:
    if isinstance(type_, _TEXTS):
        return bound.decode(errors="replace") or None
    if isinstance(type_, pl.Decimal) and in_bytes:
        return Decimal(int.from_bytes(bound, "big", signed=True)).scaleb(-type_.scale)
    for stored in _STORED.get(type(type_), ""):
        if len(bound) == struct.calcsize(stored):
            number: Bound = struct.unpack("<" + stored, bound)[0]
            return number
    return None


class Tally:
    """Counts nulls and notes the ends of a column, stretch by stretch, as it was read.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(pl.Series([4.0, None]))
    >>> tally.add(pl.Series([3.5]))
    >>> tally.fits(Claim(nulls=1, least=3.5, most=4)), tally.fits(Claim(0, None, None))
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
        if column.dtype.is_numeric() or column.dtype == pl.String:
            self._ends.append(pl.Series([column.min(), column.max()], dtype=column.dtype))

    def fits(self, claim: Claim) -> bool:
        """Return whether all that was taken, cast to another type or not, can be what is said."""
        if claim.nulls is not None and claim.nulls != self._nulls:
            return False
        if claim.least is None or claim.most is None or not self._ends:
            return True
        seen = pl.concat(self._ends)
        if isinstance(claim.least, str) != (seen.dtype == pl.String):
            return True  # numbers that were read as texts
        said = pl.Series([claim.least, claim.most]).cast(seen.dtype)
        return bool(seen.min() == said[0] and seen.max() == said[1])


class Follower:
    """Holds batches of rows against claims, in the order of the file."""

    def __init__(self, claims: Iterable[Claims]) -> None:
        self._claims = iter(claims)
        self._current = Claims(0, {})
        self._tallies: dict[str, Tally] = {}
        self._left = 0

    def contradicted(self, batch: pl.DataFrame) -> str | None:
        """Take the next rows; return the name of a column that is not what is said of it."""
        while len(batch) and self._advance():
            some, batch = batch[: self._left], batch[self._left :]
            self._left -= len(some)
            for name, claim in self._current.columns.items():
                if name in some.columns:
                    self._tallies[name].add(some[name])
                    if not self._left and not self._tallies[name].fits(claim):
                        return name
        return None

    def _advance(self) -> bool:
        """Go on to claims about rows that are still to come; return whether there are any."""
        while not self._left:
            claims = next(self._claims, None)
            if claims is None:
                return False
            self._current, self._left = claims, claims.rows
            self._tallies = {name: Tally() for name in claims.columns}
        return True


def read_checked(path: Path) -> pl.DataFrame:
    """Read a parquet file of our own, whole, held against what it says of itself.

    Raises
    ------
    DamagedError, or what Polars raises
        If it contradicts itself.
    """
    groups = check_pages(path)
    table = pl.read_parquet(path, glob=False)
    claims = [Claims.from_group(group, dict(table.schema)) for group in groups]
    column = Follower(claims).contradicted(table)
    if column is not None or len(table) != sum(group.rows for group in groups):
        raise DamagedError("it has other values than it says")
    return table
