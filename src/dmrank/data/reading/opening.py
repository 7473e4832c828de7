"""Tables at the door: files and data frames of every kind."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from dmrank.data.reading.claims import Claims
from dmrank.data.reading.contents import NOT_UTF8, UTF8_MARK, text_blocks
from dmrank.data.reading.keys import NESTED, NUMBER, TRUTH, find_keys
from dmrank.data.reading.numbers import are_numbers
from dmrank.data.reading.parquet_pages import DamagedError, check_pages
from dmrank.data.reading.quoting import count_rows
from dmrank.data.reading.tables import UNREADABLE, Table, Types
from dmrank.support.errors import DataError, first_line
from dmrank.support.files import table_format
from dmrank.support.frames import without_pandas

#: What separates the columns of a csv whose header has no comma; spreadsheets write semicolons.
_SEPARATORS = (";", "\t", "|")
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: Rows that are looked at to tell which columns of a csv are worth a try as numbers.
_ROWS_TO_TRY = 10_000
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def open_table(source: object) -> Table:
    """Open a file path or a data frame (polars, pandas, Arrow, anything that exports Arrow)."""
    if isinstance(source, str | os.PathLike):
        if _URL.match(os.fspath(source)):
            raise DataError(f"{os.fspath(source)} is a URL: download it, and name the file")
        return _open_file(Path(source))
    if isinstance(source, pl.LazyFrame):
        return _typed_table("table", source, {})
    if isinstance(source, pl.DataFrame):
        return _typed_table("table", source.lazy(), {})
    if _is_foreign_table(source):
        return _typed_table("table", _to_polars(source).lazy(), {})
    if isinstance(source, list | tuple) and all(isinstance(row, Mapping) for row in source):
        return _typed_table("table", _from_dicts(source).lazy(), {})
    raise DataError(
        f"cannot read ratings from {type(source).__name__}: give a path, a polars, pandas or Arrow "
        "table, or a list of dicts"
    )


def _from_dicts(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    if not rows:
        raise DataError("table has no rows: give at least one")
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([_to_series(str(name), [row.get(name) for row in rows]) for name in names])


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
    columns = getattr(table, "columns", ())
    if hasattr(table, "iloc"):
        _refuse_repeated("table", [str(name) for name in columns])
    try:
        return pl.DataFrame(table)
    except ImportError:  # pandas exports Arrow only where pyarrow is installed
        return pl.DataFrame([_to_series(str(name), table[name]) for name in columns])
    except pl.exceptions.DuplicateError as error:
        raise DataError(f"table: {first_line(error)}: rename one of them") from None
    except (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError) as error:
        if hasattr(table, "iloc"):
            for name in columns:
                _to_series(str(name), table[name])
        raise DataError(f"table: cannot be read: {first_line(error)}") from None


def _to_series(name: str, column: Any) -> pl.Series:
    try:
        return pl.Series(name, column)
    except ImportError as error:
        raise without_pandas(error) from None
    except (TypeError, ValueError, NotImplementedError):
        types = sorted({type(value).__name__ for value in column if value is not None})
        if types == ["float", "int"]:
            return pl.Series(name, column, dtype=pl.Float64, strict=False)
        raise DataError(
            f"table: column {name!r} has values of several types ({', '.join(types)}): make "
            "them one type, ids and text with .astype(str)"
        ) from None


def _refuse_repeated(name: str, columns: Collection[str]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise DataError(f"{name}: two columns are named {column!r}: rename one of them")
        seen.add(column)


def _open_file(path: Path) -> Table:
    if path.is_dir():
        raise DataError(f"{path} is a directory: name the file with the ratings")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    ending, gzipped = table_format(path)
    if not path.is_file():
        raise DataError(f"{path} is a pipe or a device: write what it gives to a file first")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: it should have a header and one row per rating")
    if ending == ".parquet":
        return _open_parquet(path)
    if ending == ".jsonl":
        return _open_jsonl(path, gzipped)
    return _open_csv(path, gzipped, "\t" if ending == ".tsv" else None)


def _open_parquet(path: Path) -> Table:
    try:
        groups = check_pages(path)
        metadata = pl.read_parquet_metadata(path)
        table = _typed_table(str(path), pl.scan_parquet(path, glob=False), metadata)
    except (*UNREADABLE, DamagedError, OSError) as error:
        reason = first_line(error)
        raise DataError(f"{path} is not a readable parquet file: {reason}") from None
    claims = [Claims.from_group(group, table.schema) for group in groups]
    return replace(table, rows=sum(group.rows for group in groups), claims=claims)


def _typed_table(name: str, frame: pl.LazyFrame, metadata: Mapping[str, str]) -> Table:
    def scan(types: Types) -> pl.LazyFrame:
        # Selected by name, because an expression takes "*" or "^…$" for a pattern.
        return frame.select(selectors.by_name(name).cast(type_) for name, type_ in types.items())

    return Table(name, dict(frame.collect_schema()), scan, metadata)


def _open_csv(path: Path, gzipped: bool, separator: str | None) -> Table:
    header = _first_line(path, gzipped)
    separator = separator or _separator(header)
    _check_header(path, header, separator)

    def frame(types: Types, *, lenient: bool = False) -> pl.LazyFrame:
        return pl.scan_csv(
            path,
            separator=separator,
            schema_overrides=dict(types),
            infer_schema=False,
            ignore_errors=lenient,
            decimal_comma=lenient and separator != ",",
            glob=False,
            # Polars leaves the doubled quotes of a quoted name as they are.
            with_column_names=lambda names: [name.replace('""', '"') for name in names],
        ).select(selectors.by_name(*types) if types else pl.all())

    counted = count_rows(str(path), text_blocks(path, gzipped), separator)
    if counted.rows <= 1:
        raise DataError(f"{path} has a header but no rows: there is nothing to read")
    with Table(str(path), {}, frame, {}).readable():
        head = frame({}).head(_ROWS_TO_TRY).collect()
    schema: dict[str, pl.DataType] = {}
    for column in head:
        found = are_numbers(column, commas=separator != ",").drop_nulls()
        looks_numeric = len(found) > 0 and 2 * int(found.sum()) >= len(found)
        schema[column.name] = pl.Float32() if looks_numeric else pl.String()

    def with_numbers(columns: list[str]) -> list[str]:
        read = frame(dict.fromkeys(columns, pl.Float32), lenient=True)
        counts = read.count().collect(engine="streaming").row(0)
        return [name for name, count in zip(columns, counts, strict=True) if count]

    return Table(
        str(path),
        schema,
        frame,
        {},
        is_text=True,
        rows=counted.rows - 1,
        absent=counted.rows * (len(head.columns) - 1) - counted.separators,
        commas=separator != ",",
        with_numbers=with_numbers,
    )


def _first_line(path: Path, gzipped: bool) -> str:
    block = next(text_blocks(path, gzipped), b"").removeprefix(UTF8_MARK)
    if not block:
        raise DataError(f"{path} is empty: it should have a header and one row per rating")
    try:
        return block.split(b"\n", 1)[0].decode().rstrip("\r")
    except UnicodeDecodeError:
        raise DataError(f"{path}: cannot be read: {NOT_UTF8}") from None


def _separator(header: str) -> str:
    """Return what separates the columns of a csv: a comma, unless the header has none."""
    found = max(_SEPARATORS, key=header.count)
    return "," if "," in header or found not in header else found


def _check_header(path: Path, header: str, separator: str) -> None:
    if not header.strip():
        raise DataError(f"{path} starts with a blank line: take it out")
    try:
        names = next(csv.reader([header], delimiter=separator), [])
    except csv.Error as error:
        raise DataError(f"{path}: its header cannot be read: {error}") from None
    _refuse_repeated(str(path), names)
    found = max(_SEPARATOR_NAMES, key=header.count)
    if len(names) == 1 and found in header:
        raise DataError(
            f"{path}: its header has no {_SEPARATOR_NAMES[separator]}, but "
            f"{_SEPARATOR_NAMES[found]}: columns of a .tsv are separated by tabs; name it .csv"
        )
    if separator == "," and header.count("|") > header.count(","):
        raise DataError(
            f"{path}: its header has bars and commas: separate the columns by commas alone, and "
            "quote names that have one"
        )


def _open_jsonl(path: Path, gzipped: bool) -> Table:
    def scan(types: Types) -> pl.LazyFrame:
        return pl.scan_ndjson(path, schema=dict(types)).select(selectors.by_name(*types))

    first = next(text_blocks(path, gzipped), b"")
    if first.startswith(UTF8_MARK):
        raise DataError(
            f"{path} starts with a byte order mark, which is not JSON: take it off (tail -c +4)"
        )
    keys = find_keys(str(path), text_blocks(path, gzipped))
    if keys.rows == 0:
        raise DataError(f"{path} has no rows: there is nothing to read")
    if not keys.kinds:
        raise _first_bad_json(path, gzipped) or DataError(f"{path}: its lines have no keys")
    return Table(
        str(path),
        keys.schema(),
        scan,
        {},
        is_text=True,
        rows=keys.rows,
        with_numbers=keys.with_numbers,
        explain=lambda: _first_bad_json(path, gzipped),
        json_numbers=keys.of_kinds(NUMBER),
        json_others=keys.of_kinds(TRUTH | NESTED),
    )


def _first_bad_json(path: Path, gzipped: bool) -> DataError | None:
    number, rest = 0, b""
    for block in (*text_blocks(path, gzipped), b"\n"):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            reason = _why_not_json(line)
            if reason:
                return DataError(f"{path}: line {number:,} is not JSON: {reason}")
    return None


def _why_not_json(line: bytes) -> str:
    if not line.strip():
        return ""
    try:
        value = json.loads(line, parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError:
        return NOT_UTF8
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    if isinstance(value, list):
        return "it is a list; write one object per line (jq -c '.[]')"
    return "" if isinstance(value, dict) else "it is not an object"


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no value of JSON; write null for what is missing")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number
