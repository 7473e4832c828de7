"""parquet files of every type that Arrow has, whole and damaged, against pyarrow."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.attack.case import Case
from tests.attack.damage import damaged
from tests.attack.reading import (
    GUESS,
    Cell,
    MustRefuseError,
    Reading,
    Word,
    is_aspect,
    parse_number,
    parse_time,
    read,
    wrong,
)
from tests.attack.tables import ODD_IDS, ODD_NAMES

_START = datetime(2012, 5, 31, 12)
Column = Callable[[random.Random, int], pa.Array]


def _with_nulls(rng: random.Random, values: list[Any], share: float) -> list[Any]:
    return [None if rng.random() < share else value for value in values]


def _ids(rng: random.Random, count: int) -> list[str]:
    return [
        f"i{rng.randrange(count)}" if rng.random() < 0.95 else rng.choice(ODD_IDS)
        for _ in range(count)
    ]


def _strings(type_: pa.DataType) -> Column:
    return lambda rng, count: pa.array(_ids(rng, count)).cast(type_)


def _dictionary(rng: random.Random, count: int) -> pa.Array:
    return pa.array(_ids(rng, count)).dictionary_encode()


def _integers(type_: pa.DataType) -> Column:
    return lambda rng, count: pa.array([rng.randrange(100) for _ in range(count)], type_)


def _floats(rng: random.Random, count: int) -> pa.Array:
    odd = [float("nan"), 1.5, 3.0, 1e16, -0.0]
    return pa.array(
        [rng.choice(odd) if rng.random() < 0.3 else float(rng.randrange(9)) for _ in range(count)]
    )


def _nested(rng: random.Random, count: int) -> pa.Array:
    made = rng.choice([lambda n: [n], lambda n: {"a": n}, lambda n: [[n], []]])
    return pa.array([made(rng.randrange(9)) for _ in range(count)])


def _nothing(rng: random.Random, count: int) -> pa.Array:
    return pa.nulls(count, rng.choice([pa.null(), pa.float32(), pa.string()]))


def _moments(rng: random.Random, count: int) -> pa.Array:
    unit = rng.choice(["s", "ms", "us", "ns"])
    zone = rng.choice([None, None, "UTC", "Europe/Berlin"])
    step = {"s": 1, "ms": 0.5, "us": 0.25, "ns": 0.125}[unit]
    moments = [_START + timedelta(seconds=rng.randrange(60) * step) for _ in range(count)]
    return pa.array(_with_nulls(rng, moments, rng.choice([0, 0.2])), pa.timestamp(unit, zone))


def _days(rng: random.Random, count: int) -> pa.Array:
    days = [date(2012, 5, 1) + timedelta(days=rng.randrange(60)) for _ in range(count)]
    return pa.array(days, rng.choice([pa.date32(), pa.date64()]))


def _large_integers(rng: random.Random, count: int) -> pa.Array:
    return pa.array([2**53 + rng.randrange(8) for _ in range(count)], pa.int64())


def _decimals(rng: random.Random, count: int) -> pa.Array:
    return pa.array([Decimal(rng.randrange(50)) / 10 for _ in range(count)], pa.decimal128(9, 1))


def _durations(rng: random.Random, count: int) -> pa.Array:
    return pa.array([timedelta(seconds=rng.randrange(9)) for _ in range(count)])


def _booleans(rng: random.Random, count: int) -> pa.Array:
    return pa.array([rng.random() < 0.5 for _ in range(count)])


def _stars(type_: pa.DataType) -> Column:
    def make_stars(rng: random.Random, count: int) -> pa.Array:
        stars = [rng.randint(1, 5) for _ in range(count)]
        return pa.array(_with_nulls(rng, stars, rng.choice([0, 0.3]))).cast(type_)

    return make_stars


def _odd_stars(rng: random.Random, count: int) -> pa.Array:
    odd = [float("inf"), 1e39, -1.0, float("nan"), 1e-60]
    return pa.array([rng.choice(odd) if rng.random() < 0.1 else 4.0 for _ in range(count)])


_ODD: tuple[Column, ...] = (
    _nested,
    _nothing,
    _durations,
    _booleans,
    _moments,
    _days,
    _dictionary,
    _strings(pa.binary()),
    _strings(pa.large_string()),
    _decimals,
    _floats,
    _strings(pa.string_view()),
)
_PLAIN_IDS: tuple[Column, ...] = (_strings(pa.string()), _dictionary, _integers(pa.int64()))
#: How a moment is written as an id is nobody's to say.
_OF_IDS: tuple[Column, ...] = (
    *_PLAIN_IDS,
    *(made for made in _ODD if made not in (_moments, _days)),
    _integers(pa.uint8()),
    _large_integers,
)
_PLAIN_STARS: tuple[Column, ...] = tuple(
    _stars(t()) for t in (pa.int8, pa.int64, pa.float32, pa.float64, pa.uint16)
)
_OF_STARS: tuple[Column, ...] = (
    *_PLAIN_STARS,
    *_ODD,
    _odd_stars,
    _stars(pa.float16()),
    _stars(pa.string()),
    _stars(pa.uint64()),
)
_OF_TIMES: tuple[Column, ...] = (
    _moments,
    _moments,
    _days,
    _large_integers,
    _integers(pa.int32()),
    *_ODD,
)


def make(rng: random.Random, folder: Path) -> Case:
    """Make a file of odd types, or one that is damaged."""
    table = _make_table(rng)
    file = folder / "ratings.parquet"
    codec = rng.choice(["none", "snappy", "gzip", "zstd"])
    pq.write_table(
        table,
        file,
        compression=codec,
        row_group_size=rng.choice([3, 1_000]),
        use_dictionary=rng.random() < 0.7,
        data_page_version=rng.choice(["1.0", "2.0"]),
    )
    what = ", ".join(f"{field.name[:20]!r} {field.type}" for field in table.schema)
    if rng.random() < 0.4:
        done, data = damaged(rng, file.read_bytes())
        file.write_bytes(data)
        what = f"{done} ({codec}): {what}"
    return Case(
        what, lambda: read(file), lambda answer: wrong(answer, _readings(file, table), None)
    )


def _make_table(rng: random.Random) -> pa.Table:
    count = rng.randint(1, 25)
    pick = lambda plain, odd: rng.choice(odd if rng.random() < 0.35 else plain)(rng, count)  # noqa: E731
    columns = {"user": pick(_PLAIN_IDS, _OF_IDS), "item": pick(_PLAIN_IDS, _OF_IDS)}
    for name in rng.sample(
        ["overall", "service", "value", rng.choice(ODD_NAMES)], rng.randint(1, 3)
    ):
        columns[name] = pick(_PLAIN_STARS, _OF_STARS)
    if rng.random() < 0.5:
        columns["timestamp"] = rng.choice(_OF_TIMES)(rng, count)
    if rng.random() < 0.2:
        columns["item_name"] = rng.choice([_strings(pa.string()), *_ODD])(rng, count)
    if rng.random() < 0.03:
        return pa.Table.from_arrays(
            [*columns.values(), columns["user"]], [*columns, rng.choice(list(columns))]
        )
    return pa.table(columns)


def _readings(file: Path, whole: pa.Table) -> list[Reading]:
    """Return what pyarrow reads; of columns that it refuses, what was written into them."""
    try:
        return [_read(_read_by_pyarrow(file, whole))]
    except (MustRefuseError, UnicodeDecodeError, pa.ArrowException):
        return []


def _read_by_pyarrow(file: Path, whole: pa.Table) -> pa.Table:
    # Not through a memory map or threads: a damaged file would end more than this reading.
    try:
        return pq.ParquetFile(file).read(use_threads=False)
    except (OSError, pa.ArrowException, ValueError):
        columns = {name: whole.column(name) for name in whole.column_names}
    for name in columns:
        with suppress(OSError, pa.ArrowException, ValueError, KeyError):
            columns[name] = pq.ParquetFile(file).read([name], use_threads=False).column(name)
    same_rows = len({len(column) for column in columns.values()}) == 1
    return pa.table(columns) if same_rows else whole


def _read(table: pa.Table) -> Reading:
    names = table.column_names
    if len(set(names)) < len(names) or not {"user", "item"} <= set(names) or not table.num_rows:
        raise MustRefuseError
    columns = {name: table.column(name) for name in names}
    cells = {name: _cells_of(column) for name, column in columns.items() if is_aspect(name)}
    times = None
    if "timestamp" in columns:
        times = [parse_time(value) for value in _moments_of(columns["timestamp"])]
    users, items = (
        [_id_texts(value) for value in columns[name].to_pylist()] for name in ("user", "item")
    )
    return Reading(users, items, times, cells)


def _cells_of(column: pa.ChunkedArray) -> list[Cell]:
    if pa.types.is_temporal(column.type):
        # No ratings; damage makes moments of them that Python's datetime cannot hold.
        return [None if missing else GUESS for missing in column.is_null().to_pylist()]
    return [_cell(value) for value in column.to_pylist()]


def _moments_of(column: pa.ChunkedArray) -> list[Any]:
    """Return moments as pyarrow has them, but without what Python's datetime cannot hold."""
    if pa.types.is_timestamp(column.type):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        return [
            None if value is None else Fraction(value, per_second)
            for value in column.cast(pa.int64()).to_pylist()
        ]
    return column.to_pylist()


def _id_texts(value: Any) -> frozenset[str]:
    """Return what may be made of an id; one that is no text and no whole number may be refused."""
    if isinstance(value, str) and value:
        return frozenset([value])
    if isinstance(value, bool):
        return frozenset([str(value), str(value).lower()])
    if isinstance(value, int):
        return frozenset([str(value)])
    if isinstance(value, bytes):
        return frozenset([value.decode()])
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return frozenset([str(int(value))])  # what is missing elsewhere made pandas add a point
    if isinstance(value, Decimal):
        return frozenset([str(value), f"{value:f}"])
    raise MustRefuseError


def _cell(value: Any) -> Cell:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return GUESS
    if isinstance(value, str):
        number = parse_number(value)
        return Word(value) if isinstance(number, Word) else GUESS
    return float(value)
