"""Yahoo! Movies: a table of letter grades for movies and four criteria."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import polars as pl

from dmrank.datasets.archives import members
from dmrank.datasets.corpus import Converted, Raw, Scale
from dmrank.datasets.tidy import Place, numbers, tidy
from dmrank.support.errors import ConfigError

#: A column of this name is skipped.
SKIP = ""
#: What the columns of a file without a header are taken to be, by their number. 8: the
#: multi-criteria file in circulation (Lakiotaki, Matsatsinis and Tsoukiàs 2011; 62,156 ratings),
#: which numbers its criteria; their order is an assumption. 7: the
#: same criteria after overall. 4: Yahoo's own file R4, overall from 1 to 13 and again from 1 to 5.
LAYOUTS: dict[int, tuple[str, ...]] = {
    8: ("user", "acting", "direction", "story", "visuals", "overall", "item", SKIP),
    7: ("user", "item", "overall", "acting", "direction", "story", "visuals"),
    4: ("user", "item", "overall", SKIP),
}
#: What a header may call a column.
HEADERS = {
    **dict.fromkeys(("user", "userid", "uid"), "user"),
    **dict.fromkeys(("item", "itemid", "movie", "movieid", "iid"), "item"),
    **dict.fromkeys(("overall", "overallrating", "rating", "total"), "overall"),
    **dict.fromkeys(("acting", "actor", "actors"), "acting"),
    **dict.fromkeys(("direction", "directing", "director"), "direction"),
    "story": "story",
    **dict.fromkeys(("visuals", "visual"), "visuals"),
}
#: The lowest grade is 1, the highest 13.
GRADES = ("F", "D-", "D", "D+", "C-", "C", "C+", "B-", "B", "B+", "A-", "A", "A+")
SEPARATORS = "\t,;|"
MISSING = ("", "NA", "N/A", "NaN", "null", "-", "?")


def convert(raw: Raw) -> Converted:
    """Read the table: tab- or comma-separated, with or without a header.

    Grades (A+ … F) become 13 … 1; numbers stay as they are. The scale is 1 to 13, or 1 to 5 if the
    file has no letter and no number above 5.
    """
    rows = _rows(raw)
    names = _column_names(raw, rows[0])
    header = _is_header(rows[0], names)
    first_line = 2 if header else 1
    table = _table(raw, rows[header:], names, first_line)
    aspects = tuple(name for name in names if name not in ("user", "item", SKIP))

    def place(row: int) -> str:
        return f"line {first_line + row:,}"

    ratings = [_ratings(raw, table[name], place) for name in aspects]
    scale: Scale = dict.fromkeys(aspects, (1.0, _highest(table, ratings)))
    frame = table.select("user", "item", *ratings)
    return Converted(scale, iter([tidy(raw, frame, place, scale)]))


def _rows(raw: Raw) -> list[list[str]]:
    tables = [stream.read() for _, stream in members(raw, (".txt", ".csv", ".tsv", ".dat"))]
    if len(tables) > 1:
        found = f"it holds {len(tables)} tables"
        raise raw.refuse("the archive", found, "one: unpack it and give the one with the ratings")
    try:
        text = tables[0].decode("utf-8-sig")
        separator = max(SEPARATORS, key=text.partition("\n")[0].count)
        rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    except (UnicodeDecodeError, csv.Error) as error:
        raise raw.refuse("the file", f"it is no text table ({error})", "UTF-8 text") from None
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise raw.refuse("the file", "it is blank", "one rating per line")
    return rows


def _column_names(raw: Raw, first: Sequence[str]) -> tuple[str, ...]:
    names = raw.columns or _from_header(first) or LAYOUTS.get(len(first))
    if names is None:
        found = f"{len(first)} columns without a header that names user and item"
        expected = "the names of the columns: give them with columns=('user', 'item', …)"
        raise raw.refuse("line 1", found, expected)
    if len(names) != len(first):
        found = f"{len(first)} columns"
        raise raw.refuse("line 1", found, f"the {len(names)} columns that columns= names")
    given = [name for name in names if name != SKIP]
    if not {"user", "item"} < set(given) or len(set(given)) != len(given):
        raise ConfigError(
            f"columns={names!r} should name 'user', 'item' and at least one aspect, each once "
            "('' skips a column)"
        )
    return names


def _from_header(first: Sequence[str]) -> tuple[str, ...] | None:
    names = tuple(HEADERS.get(_plain(field), SKIP) for field in first)
    return names if {"user", "item"} <= set(names) else None


def _plain(field: str) -> str:
    return "".join(letter for letter in field.lower() if letter.isalpha())


def _is_header(first: Sequence[str], names: Sequence[str]) -> bool:
    """Tell a header by its rating columns, which hold no ratings."""
    fields = [
        field
        for field, name in zip(first, names, strict=True)
        if name not in ("user", "item", SKIP)
    ]
    return not any(_is_rating(field.strip()) for field in fields)


def _is_rating(field: str) -> bool:
    return field in GRADES or field in MISSING or field.lstrip("-").replace(".", "", 1).isdigit()


def _table(
    raw: Raw, rows: list[list[str]], names: tuple[str, ...], first_line: int
) -> pl.DataFrame:
    for number, row in enumerate(rows, start=first_line):
        if len(row) != len(names):
            raise raw.refuse(f"line {number:,}", f"{len(row)} columns", f"{len(names)} columns")
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return pl.DataFrame(
        {
            name: pl.Series(column, dtype=pl.String)
            for name, column in zip(names, columns, strict=True)
            if name != SKIP
        }
    )


def _ratings(raw: Raw, column: pl.Series, place: Place) -> pl.Series:
    text = column.str.strip_chars()
    text = text.set(text.is_in(MISSING), None)
    grades = {grade: str(number) for number, grade in enumerate(GRADES, start=1)}
    return numbers(raw, text.replace(grades), place, "a grade from A+ to F, or a number")


def _highest(table: pl.DataFrame, ratings: Sequence[pl.Series]) -> float:
    has_letters = any(
        table[column.name].str.strip_chars().is_in(GRADES).any() for column in ratings
    )
    top = max((float(column.max() or 0) for column in ratings), default=0)  # type: ignore[arg-type]
    return 13.0 if has_letters or top > 5 else 5.0
