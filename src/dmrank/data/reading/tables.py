"""Tables at the door: files and data frames of every kind, streamed as typed batches.

Whatever is wrong with a table is said here in one line: the table, the row or column, what was
found, what is expected.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from polars import selectors

from dmrank.support.errors import DataError, did_you_mean
from dmrank.support.files import table_format

#: What people write into a text table for "no value", besides leaving it empty.
MISSING_WORDS = (
    "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "none", "-", "?",
)  # fmt: skip
#: What separates the columns of a csv whose header has no comma; spreadsheets write semicolons.
_SEPARATORS = (b";", b"\t", b"|")
_LONGEST_HEADER = 1 << 16
#: How many rows are looked at to tell which columns of a text table are numeric.
ROWS_TO_INFER = 10_000
#: What Polars says of a value that is not a number.
_NOT_NUMERIC = ("could not parse", "cannot parse", "conversion from")

Types = Mapping[str, pl.DataType | type[pl.DataType]]
Read = TypeVar("Read")


@dataclass(frozen=True)
class Table:
    """A table that can be streamed.

    Attributes
    ----------
    name : str
        What error messages call it.
    schema : dict
        Column names and types; text tables (csv, tsv) get the types of their first rows.
    scan : callable
        From the wanted types of some columns to a lazy frame of these columns.
    metadata : dict
        Key-value metadata, which only parquet files have.
    is_text : bool
        Whether it has no types of its own (csv, tsv, jsonl).
    decimal_comma : bool
        Whether its numbers are written 3,5.
    first_row : int
        What number its first row has in error messages.
    careful : bool
        Whether numbers are read as text first: slower, but words for "missing" are taken as such,
        and any other word is named with its row.
    """

    name: str
    schema: dict[str, pl.DataType]
    scan: Callable[[Types], pl.LazyFrame]
    metadata: Mapping[str, str]
    is_text: bool = False
    decimal_comma: bool = False
    first_row: int = 1
    careful: bool = False

    def require(self, column: str, purpose: str) -> str:
        """Return the column's name, or raise if the table does not have it."""
        if column not in self.schema:
            raise DataError(
                f"{self.name}: there is no column {column!r} for the {purpose}; "
                f"{did_you_mean(column, self.schema)} (name it with {purpose}=COLUMN)"
            )
        return column

    def batches(
        self, *, text: Sequence[str], numbers: Sequence[str], native: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """Stream the table: `text` columns as strings, `numbers` as float32, others as they are."""
        types: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(text, pl.String)
        types |= {name: self.schema[name] for name in native}
        types |= dict.fromkeys(numbers, pl.String if self.careful else pl.Float32)
        first_row = self.first_row
        with self.readable():
            for batch in self.scan(types).collect_batches(maintain_order=True):
                if self.careful:
                    yield batch.with_columns(
                        self._parse_numbers(batch[name], first_row) for name in numbers
                    )
                else:
                    yield batch
                first_row += len(batch)

    def _parse_numbers(self, column: pl.Series, first_row: int) -> pl.Series:
        """Turn text into float32, words for "missing" into null, and name the first bad value."""
        text = _without_missing_words(column)
        if self.decimal_comma:
            text = text.str.replace(",", ".", literal=True)
        numbers = text.cast(pl.Float32, strict=False)
        bad = numbers.is_null() & text.is_not_null()
        if bad.any():
            row = bad.arg_max() or 0
            raise DataError(
                f"{self.name}: column {column.name!r}, row {first_row + row:,}: {column[row]!r} is "
                "not a number; mend it, or choose the aspect columns with aspects=[…]"
            )
        return numbers

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn what Polars raises over a bad table into one clear line."""
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            message = str(error).strip().splitlines()[0]
            if any(words in message for words in _NOT_NUMERIC):
                raise _NotNumericError(f"{self.name}: {message}") from None
            if "utf-8" in message.lower() or "utf8" in message.lower():
                message = "it is not UTF-8 text; convert it first (iconv -f latin1 -t utf-8)"
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
        if not (table.is_text or isinstance(error, _NotNumericError)):
            raise
        return read(replace(table, careful=True))


class _NotNumericError(DataError):
    """A column that was read as numbers has something else in it."""


def open_table(source: object) -> Table:
    """Open a file path or a data frame (polars, pandas, Arrow, anything that exports Arrow)."""
    if isinstance(source, str | os.PathLike):
        return _open_file(Path(source))
    if isinstance(source, pl.LazyFrame):
        return _typed_table("table", source, {})
    if isinstance(source, pl.DataFrame):
        return _typed_table("table", source.lazy(), {})
    if _is_foreign_table(source):
        return _typed_table("table", _to_polars(source).lazy(), {})
    raise DataError(
        f"cannot read ratings from {type(source).__name__}: give a path, or a polars, pandas or "
        "Arrow table"
    )


def is_table_like(source: object) -> bool:
    """Return whether `open_table` knows what to do with something.

    Examples
    --------
    >>> [is_table_like(source) for source in ("lists.csv", pl.LazyFrame(), [1])]
    [True, True, False]
    """
    ours = isinstance(source, str | os.PathLike | pl.LazyFrame | pl.DataFrame)
    return ours or _is_foreign_table(source)


def _is_foreign_table(source: object) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "iloc")


def _to_polars(table: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(table)
    except ImportError:  # pandas exports Arrow only where pyarrow is installed
        return pl.DataFrame({str(name): table[name].to_list() for name in table.columns})


def _open_file(path: Path) -> Table:
    if path.is_dir():
        raise DataError(f"{path} is a directory: name the file with the ratings")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    ending, gzipped = table_format(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: it should have a header and one row per rating")
    if ending == ".parquet":
        return _open_parquet(path)
    if ending == ".jsonl":
        return _open_jsonl(path, gzipped)
    return _open_text(path, "\t" if ending == ".tsv" else _separator(path, gzipped))


def _open_parquet(path: Path) -> Table:
    try:
        metadata = pl.read_parquet_metadata(path)
        return _typed_table(str(path), pl.scan_parquet(path, glob=False), metadata)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"{path} is not a readable parquet file: {reason}") from None


def _typed_table(name: str, frame: pl.LazyFrame, metadata: Mapping[str, str]) -> Table:
    def scan(types: Types) -> pl.LazyFrame:
        # Selected by name, because an expression takes "*" or "^…$" for a pattern.
        return frame.select(selectors.by_name(name).cast(type_) for name, type_ in types.items())

    return Table(name, dict(frame.collect_schema()), scan, metadata)


def _separator(path: Path, gzipped: bool) -> str:
    """Return what separates the columns of a csv: a comma, unless the header has none."""
    with gzip.open(path, "rb") if gzipped else path.open("rb") as lines:
        header = lines.readline(_LONGEST_HEADER)
    found = max(_SEPARATORS, key=header.count)
    return "," if b"," in header or found not in header else found.decode()


def _open_text(path: Path, separator: str) -> Table:
    def frame(types: Types, decimal_comma: bool = False) -> pl.LazyFrame:
        return pl.scan_csv(
            path,
            separator=separator,
            schema_overrides=dict(types),
            infer_schema=False,
            decimal_comma=decimal_comma,
            glob=False,
            # Polars leaves the doubled quotes of a quoted name as they are.
            with_column_names=lambda names: [name.replace('""', '"') for name in names],
        )

    with Table(str(path), {}, frame, {}).readable():
        head = frame({}).head(ROWS_TO_INFER).collect()
    if len(head) == 0:
        raise DataError(f"{path} has a header but no rows: there is nothing to read")
    decimal_comma = separator != "," and any(map(_has_decimal_commas, head))
    schema: dict[str, pl.DataType] = {
        column.name: pl.Float32() if _looks_numeric(column, decimal_comma) else pl.String()
        for column in head
    }

    def scan(types: Types) -> pl.LazyFrame:
        return frame(types, decimal_comma).select(selectors.by_name(*types))

    return Table(str(path), schema, scan, {}, is_text=True, decimal_comma=decimal_comma)


def _has_decimal_commas(column: pl.Series) -> bool:
    return bool(column.str.contains(r"^\s*-?\d+,\d+\s*$").any())


def _looks_numeric(column: pl.Series, decimal_comma: bool) -> bool:
    text = _without_missing_words(column).drop_nulls()
    if decimal_comma:
        text = text.str.replace(",", ".", literal=True)
    return len(text) > 0 and bool(text.cast(pl.Float32, strict=False).is_not_null().all())


def _without_missing_words(column: pl.Series) -> pl.Series:
    text = column.str.strip_chars()
    return text.set(text.is_in(["", *MISSING_WORDS]), None)


def _open_jsonl(path: Path, gzipped: bool) -> Table:
    def scan(types: Types) -> pl.LazyFrame:
        return pl.scan_ndjson(path, schema=dict(types)).select(selectors.by_name(*types))

    table = Table(str(path), {}, scan, {})
    try:
        with table.readable():
            schema = pl.scan_ndjson(path, infer_schema_length=ROWS_TO_INFER).collect_schema()
    except DataError as error:
        raise _first_bad_json(path, gzipped) or error from None
    return Table(str(path), dict(schema), scan, {}, is_text=True)


def _first_bad_json(path: Path, gzipped: bool) -> DataError | None:
    with gzip.open(path, "rb") if gzipped else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                json.loads(line)
            except ValueError as error:
                return DataError(f"{path}: line {number:,} is not JSON: {error}")
    return None
