"""A table that can be streamed as typed batches, whatever it was made of.

Whatever is wrong with a table is said here in one line: the table, the row or column, what was
found, what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from dmrank.data.ids import IdType
from dmrank.data.reading.claims import Claims, Follower
from dmrank.data.reading.contents import NOT_UTF8
from dmrank.data.reading.numbers import NotANumberError, NumberReader, are_numbers
from dmrank.support.errors import DataError, did_you_mean, first_line

#: What Polars says of a value that is not a number.
_NOT_NUMERIC = ("could not parse", "cannot parse", "conversion from")
_NO_IDS = (pl.Boolean(), pl.Binary())
_LARGEST_EXACT = 2.0**53

#: What Polars raises over a table that it cannot read; damaged parquet files make it panic.
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException)

Types = Mapping[str, pl.DataType | type[pl.DataType]]
Scan = Callable[[Types], pl.LazyFrame]
Read = TypeVar("Read")


@dataclass(frozen=True)
class Table:
    """A table that can be streamed.

    Attributes
    ----------
    name : str
        What error messages call it.
    schema : dict
        Column names and types; text tables (csv, tsv) get the types of their first rows, which
        decide nothing but what is tried first.
    scan : callable
        From the wanted types of some columns to a lazy frame of these columns.
    metadata : dict
        Key-value metadata, which only parquet files have.
    is_text : bool
        Whether it has no types of its own (csv, tsv, jsonl).
    rows : int or None
        How many rows there are by another count than that of Polars, if they were counted.
    claims : sequence of Claims
        What a file says about its columns, if it says anything.
    absent : int
        How many values its rows have less than its header has names.
    commas : bool
        Whether its numbers may be written 3,5.
    with_numbers : callable, optional
        Of a text table: from columns that do not look numeric to those that have a number anywhere.
    explain : callable, optional
        Finds the line that Polars only says is somewhere.
    first_row : int
        What number its first row has in error messages.
    careful : bool
        Whether numbers are read as text first: slower, but words for "missing" are taken as such,
        and any other word is named with its row.
    json_numbers, json_others : collections of str
        Columns of JSON lines that have a number, and that have something else than a text or a
        number.
    """

    name: str
    schema: dict[str, pl.DataType]
    scan: Scan
    metadata: Mapping[str, str]
    is_text: bool = False
    rows: int | None = None
    claims: Sequence[Claims] = ()
    absent: int = 0
    commas: bool = False
    with_numbers: Callable[[list[str]], Collection[str]] | None = None
    explain: Callable[[], DataError | None] | None = None
    first_row: int = 1
    careful: bool = False
    json_numbers: Collection[str] = ()
    json_others: Collection[str] = ()

    def require(self, column: str, purpose: str) -> str:
        """Return the column's name, or raise if the table does not have it."""
        if column not in self.schema:
            raise DataError(
                f"{self.name}: there is no column {column!r} for the {purpose}; "
                f"{did_you_mean(str(column), self.schema)} (name it with {purpose}=COLUMN)"
            )
        return column

    def id_type(self, column: str) -> IdType:
        """Return what ids a column has: a text table does not say, and floats are whole numbers.

        A column that has something else than texts or numbers is refused.
        """
        type_ = self.schema[column]
        if column in self.json_others or type_.is_nested() or type_ in _NO_IDS:
            raise DataError(
                f"{self.name}: column {column!r} has values that are no ids: ids are texts, or "
                "whole numbers"
            )
        whole = not self.is_text and (type_.is_integer() or type_.is_float())
        return "integer" if whole else "string"

    def number_columns(self, *, without: Collection[str]) -> list[str]:
        """Return the columns that have a number anywhere, except some."""
        columns = [name for name in self.schema if name not in without]
        numeric = {name for name in columns if self.schema[name].is_numeric()}
        others = [name for name in columns if name not in numeric]
        if self.with_numbers is not None and others:
            with self.readable():
                numeric |= set(self.with_numbers(others))
        return [name for name in columns if name in numeric]

    def is_mostly_text(self, column: str) -> bool:
        """Return whether a column of a text table has more words than numbers."""
        numbers = words = 0
        for batch in self.batches(text=[column], numbers=[]):
            found = are_numbers(batch[column], commas=self.commas).drop_nulls()
            numbers += int(found.sum())
            words += len(found) - int(found.sum())
        return words > numbers

    def batches(
        self, *, text: Sequence[str], numbers: Sequence[str], native: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """Stream the table: `text` columns as strings, `numbers` as float32, others as they are."""
        whole = [name for name in text if not self.is_text and self.schema[name].is_numeric()]
        types: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(text, pl.String)
        types |= {name: self.schema[name] for name in (*native, *whole)}
        types |= dict.fromkeys(numbers, pl.String if self.careful else pl.Float32)
        first_row = self.first_row
        reader = NumberReader(self.name, commas=self.commas)
        follower = Follower(self.claims)
        with self.readable():
            for batch in self.scan(types).collect_batches(maintain_order=True):
                if (column := follower.contradicted(batch)) is not None:
                    raise DataError(
                        f"{self.name}: column {column!r} has other values than the file says: it "
                        "is damaged; write or fetch it again"
                    )
                made = [self._whole(batch[name], first_row) for name in whole]
                if self.careful:
                    made += [reader.read(batch[name], first_row) for name in numbers]
                yield batch.with_columns(made)
                first_row += len(batch)
        reader.finish()
        self._check_count(first_row - self.first_row)

    def _whole(self, column: pl.Series, first_row: int) -> pl.Series:
        """Turn numbers into text; floats without a point: what is missing made pandas add it."""
        if not column.dtype.is_float():
            return column.cast(pl.String)
        known = column.alias("known").fill_nan(None)
        bad = ((known != known.floor()) | (known.abs() > _LARGEST_EXACT)).fill_null(False)
        if bad.any():
            row = bad.arg_max() or 0
            raise DataError(
                f"{self.name}: column {column.name!r}, row {first_row + row:,}: {column[row]!r} is "
                "a float, which is no id; make ids whole numbers or strings"
            )
        return known.cast(pl.Int64).cast(pl.String).alias(column.name)

    def _check_count(self, read: int) -> None:
        if self.rows is not None and read != self.rows:
            remedy = (
                "its quotes or ends of lines are not those of its format; convert it to parquet, "
                "or mend it"
                if self.is_text
                else "it is damaged; write or fetch it again"
            )
            raise DataError(
                f"{self.name}: {read:,} rows were read where there are {self.rows:,}: {remedy}"
            )

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn what Polars raises over a bad table into one clear line."""
        try:
            yield
        except (*UNREADABLE, OSError) as error:
            message = first_line(error)
            if any(words in message for words in _NOT_NUMERIC):
                raise NotANumberError(f"{self.name}: {message}") from None
            if self.explain is not None and (explained := self.explain()) is not None:
                raise explained from None
            if "utf-8" in message.lower() or "utf8" in message.lower():
                message = NOT_UTF8
            raise DataError(f"{self.name}: cannot be read: {message}") from None


def read_with_care_if_needed(table: Table, read: Callable[[Table], Read]) -> Read:
    """Read a table fast, and once more with care if anything is wrong with it.

    Where a block has a word among its numbers, Polars may hand out later blocks before it says so:
    then rows are missing, and those after them miscounted. So nothing of a first try is kept.
    """
    try:
        return read(table)
    except DataError as error:
        # A typed table may be a stream that can be read only once; its rows are not miscounted.
        if not (table.is_text or isinstance(error, NotANumberError)):
            raise
        return read(replace(table, careful=True))
