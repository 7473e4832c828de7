"""What a table of ratings says, by independent readers, and whether Ratings say the same.

A cell is a number, nothing, or a word. Where a careful person could take it for either, or where
what is right is documented rather than plain, it is anybody's guess and not judged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from dmrank import Ratings, read_ratings
from dmrank.support.terminal import printable

_RESERVED: Final = ("user", "item", "timestamp", "item_name")
_MISSING: Final = (
    "",
    "NA",
    "na",
    "N/A",
    "n/a",
    "NaN",
    "nan",
    "null",
    "NULL",
    "None",
    "none",
    "-",
    "?",
)
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LIKE_A_NUMBER: Final = re.compile(r"[+-]?(inf|infinity|nan|[0-9_]+|0x[0-9a-f]+)", re.IGNORECASE)
_EPOCH: Final = date(1970, 1, 1)


class Word(NamedTuple):
    """Something that is no number."""

    text: str


#: A cell that is not judged.
GUESS: Final = Word("?")
Cell = float | Word | None


class MustRefuseError(Exception):
    """The table has no right reading: whoever reads it without an error is wrong."""


@dataclass
class Reading:
    """A table as an independent reader has it; an id is any of some texts."""

    users: list[frozenset[str]] = field(default_factory=list)
    items: list[frozenset[str]] = field(default_factory=list)
    times: list[Fraction | Word | None] | None = None
    columns: dict[str, list[Cell]] = field(default_factory=dict)


class Answer(NamedTuple):
    """What dmrank read, and what it said meanwhile."""

    ratings: Ratings
    said: str


def read(source: object, **options: Any) -> Answer:
    """Read with dmrank, and keep what it says."""
    said = StringIO()
    with redirect_stderr(said):
        ratings = read_ratings(source, **options)
    return Answer(ratings, said.getvalue())


def parse_number(text: str, *, decimal_comma: bool = False) -> Cell:
    """Return what the text of a cell says as a rating."""
    plain = text.strip()
    if plain in _MISSING:
        return None
    if decimal_comma and "," in plain:
        if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+", plain):
            return GUESS
        plain = plain.replace(",", ".", 1)
    if _NUMBER.fullmatch(plain):
        return float(plain)
    return GUESS if _LIKE_A_NUMBER.fullmatch(plain) else Word(text)


def parse_time(value: Any) -> Fraction | Word | None:
    """Return the moment that a cell names, in seconds or whatever whole numbers are."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _parse_written_time(value)
    if isinstance(value, float):
        return Fraction(value) if np.isfinite(value) else GUESS
    if isinstance(value, int | Decimal | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return Fraction((value - _EPOCH).days * 86_400)
    return GUESS


def _parse_written_time(text: str) -> Fraction | Word | None:
    if re.fullmatch(r"-?[0-9]{1,25}(\.[0-9]{1,12})?", text):
        return Fraction(text)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        try:
            return parse_time(date.fromisoformat(text))
        except ValueError:
            return GUESS
    return GUESS


def wrong(answer: Answer, readings: Sequence[Reading], aspects: Sequence[str] | None) -> str | None:
    """Say how an answer differs from every right reading of a table."""
    differences = [_difference(answer, reading, aspects) for reading in readings]
    if not readings:
        return "it was read, and has no right reading"
    return None if None in differences else differences[0]


def _difference(answer: Answer, reading: Reading, aspects: Sequence[str] | None) -> str | None:
    table = answer.ratings.to_polars()
    found = {
        (str(user), str(item)): row
        for row, (user, item) in enumerate(zip(table["user"], table["item"], strict=True))
    }
    rows = _rows_by_pair(reading, found)
    if rows is None or len(rows) != len(found):
        there = len({*zip(reading.users, reading.items, strict=True)})
        return f"{len(found):,} pairs were read and {there:,} are there, or their ids are others"
    if (which := _wrong_time(answer.ratings, reading, rows, found)) is not None:
        return which
    for name, cells in reading.columns.items():
        if aspects is not None and name not in aspects:
            continue
        difference = _column_difference(answer, name, cells, aspects, rows, found, reading)
        if difference is not None:
            return difference
    return None


def _rows_by_pair(
    reading: Reading, found: dict[tuple[str, str], int]
) -> dict[tuple[str, str], list[int]] | None:
    """Return the rows of each pair that was found, or None if a row is of none of them."""
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, (users, items) in enumerate(zip(reading.users, reading.items, strict=True)):
        pair = next(((u, i) for u in users for i in items if (u, i) in found), None)
        if pair is None:
            return None
        rows[pair].append(row)
    return rows


def _that_count(reading: Reading, rows: list[int]) -> list[int]:
    """Return which of the rows of one pair may be the one that counts."""
    if reading.times is None:
        return rows[-1:]
    times = [reading.times[row] for row in rows]
    if any(isinstance(time, Word) for time in times):
        return rows
    known = [(time, row) for time, row in zip(times, rows, strict=True) if time is not None]
    return [max(known)[1]] if known else rows[-1:]


def _wrong_time(
    ratings: Ratings,
    reading: Reading,
    rows: dict[tuple[str, str], list[int]],
    found: dict[tuple[str, str], int],
) -> str | None:
    """Two moments that differ by one or more do not become one, nor change their order."""
    if ratings.timestamps is None or reading.times is None:
        return None
    moments = []
    for pair, of_pair in rows.items():
        counted = _that_count(reading, of_pair)
        time = reading.times[counted[0]] if len(counted) == 1 else None
        if isinstance(time, Fraction):
            moments.append((time, int(ratings.timestamps[found[pair]])))
    moments.sort()
    for (first, read_first), (second, read_second) in pairwise(moments):
        if second - first >= 1 and read_second <= read_first:
            return f"the moments {first} and {second} were read as {read_first} and {read_second}"
    return None


def _column_difference(
    answer: Answer,
    name: str,
    cells: list[Cell],
    aspects: Sequence[str] | None,
    rows: dict[tuple[str, str], list[int]],
    found: dict[tuple[str, str], int],
    reading: Reading,
) -> str | None:
    guesses = sum(cell is GUESS for cell in cells)
    words = [cell for cell in cells if isinstance(cell, Word) and cell is not GUESS]
    numbers = [cell for cell in cells if isinstance(cell, float)]
    if name not in answer.ratings.aspects:
        # A text may be a number here and there; what is mostly numbers is no text. What two people
        # would read differently may be words.
        is_text = len(words) + guesses > len(numbers)
        if not numbers or is_text or (guesses and not words) or printable(name) in answer.said:
            return None
        return f"column {name!r} has {len(numbers):,} numbers and is no aspect, without a word"
    if words:
        return f"column {name!r} was read as numbers, though it has {words[0].text!r}"
    values = answer.ratings.values[:, answer.ratings.aspect(name)]
    for pair, of_pair in rows.items():
        value = float(values[found[pair]])
        may_be = [cells[row] for row in _that_count(reading, of_pair)]
        if not any(_is(value, cell) for cell in may_be):
            return f"column {name!r} of {pair!r} was read as {value!r}, not {may_be[0]!r}"
    return None


def _is(value: float, cell: Cell) -> bool:
    if cell is GUESS:
        return True
    if cell is None or isinstance(cell, Word) or np.isnan(cell) or cell == -1:
        return bool(np.isnan(value))
    return bool(np.isclose(value, cell, rtol=1e-6, atol=1e-37))


def is_aspect(name: str) -> bool:
    """Return whether a column of this name may be an aspect."""
    return name not in _RESERVED
