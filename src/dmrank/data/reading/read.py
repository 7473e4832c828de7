"""Tables -> Ratings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from dmrank.data.ids import Ids
from dmrank.data.ratings import SCALE_METADATA, Ratings, Split
from dmrank.data.reading.collect import Collected, collect_long, collect_wide
from dmrank.data.reading.columns import Columns, in_words
from dmrank.data.reading.numbers import NotANumberError
from dmrank.data.reading.opening import open_table
from dmrank.data.reading.tables import Table, read_with_care_if_needed
from dmrank.data.scale import ScaleLike
from dmrank.data.times import finest
from dmrank.support.arrays import Float32s
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.progress import say


def read_ratings(
    source: object,
    *,
    user: str = "user",
    item: str = "item",
    aspects: Sequence[str] | None = None,
    aspect: str | None = None,
    rating: str | None = None,
    timestamp: str | None = None,
    item_name: str | None = None,
    scale: ScaleLike | None = None,
    missing_values: Iterable[float] = (-1,),
    verbose: bool = True,
) -> Ratings:
    """Read multi-aspect ratings from a file or a data frame.

    The table is streamed, so that a large file is never in memory as a whole. The rows of a text
    file are also counted by its bytes: what would be lost is an error that names the row.

    Parameters
    ----------
    source : path or table
        A csv, tsv or jsonl file (plain or .gz), a parquet file, or a polars, pandas or Arrow
        table. A csv whose header has no comma may be separated by semicolons, tabs or bars, and
        its numbers may have decimal commas.
    user, item : str
        Columns with the ids. Whole numbers of a typed table (a data frame, parquet) come out of
        every answer as whole numbers, and so do floats, which pandas makes of them where one is
        missing. A csv, tsv or jsonl file does not say what its ids are: they are text, as written.
    aspects : sequence of str, optional
        Columns with the ratings; by default every other numeric column, wherever in the file its
        first number is, but those that are called like a count, a vote or a time, have more than
        100 different values or reach farther than 100: they are named, and `aspects` takes any.
        Of a text file, a column with a word among its numbers is an error, one with more words
        than numbers is text. ``[]`` means implicit feedback: every row counts as 1
        on the one aspect `interaction`.
    aspect, rating : str, optional
        For a long table (one row per user, item and aspect): the columns with the aspect's name
        and its rating.
    timestamp : str, optional
        Column with the time; by default the column `timestamp` if there is one. Whole numbers are
        kept, dates become seconds since 1970, or micro- or nanoseconds where they have fractions.
        03/04/2012 is read only where another date, such as 25/04/2012, tells that days come first.
    item_name : str, optional
        Column with a name for the item; by default `item_name` if there is one.
    scale : (low, high) or dict of aspect to (low, high), optional
        The rating scale; a rating outside it is an error. By default what is observed.
    missing_values : iterable of float
        Numbers that stand for a missing rating.
    verbose : bool
        Whether to say which columns were taken as aspects and how many rows were repeated.

    Returns
    -------
    Ratings
        A repeated (user, item) keeps the latest by timestamp, else the last row.

    Examples
    --------
    >>> table = pl.DataFrame({
    ...     "guest": ["ann", "ann", "bob"], "hotel": ["Ritz", "Hilton", "Ritz"],
    ...     "overall": [5, 3, 4], "service": [4, None, -1],
    ... })
    >>> ratings = read_ratings(table, user="guest", item="hotel", scale=(1, 5), verbose=False)
    >>> ratings
    Ratings(2 users × 2 items × 2 aspects, 3 rating vectors, 33.3 % of aspect ratings missing)
    """
    table = open_table(source)
    columns = Columns(
        user, item, _names(aspects), aspect, rating, timestamp, item_name, _meant(table, scale)
    )
    rows, notes = _collect(table, columns, _missing_numbers(missing_values), scale)
    if len(rows.users) == 0:
        raise DataError(f"{table.name} has no rows: there is nothing to read")
    ratings = rows.to_ratings(scale if scale is not None else _scale_from(table, rows.aspects))
    if verbose:
        for note in notes:
            say(f"{table.name}: {note}")
        dropped = rows.repeated + len(rows.users) - len(ratings)
        _report(table, ratings, rows.left_out, dropped)
    return ratings


def _collect(
    table: Table, columns: Columns, missing: Float32s, scale: ScaleLike | None
) -> tuple[Collected, list[str]]:
    """Collect the rows, and say what is to be known about columns.

    Among columns that nobody chose, one with a word among its numbers is an error, and one with a
    number among its words is text.
    """
    text: dict[str, str] = {}

    def collect(table: Table) -> Collected:
        found = columns.resolve(table, text=text)
        kind = collect_wide if found.aspect is None else collect_long
        return kind(table, found, missing, scale)

    while True:
        try:
            rows = read_with_care_if_needed(table, collect)
            break
        except NotANumberError as error:
            chosen = columns.aspects is not None or columns.aspect is not None
            if chosen or not (table.is_text and table.is_mostly_text(error.column)):
                raise
            text[error.column] = (
                f"column {error.column!r} is text (row {error.row:,}: {error.value[:40]!r}), "
                "and so no aspect"
            )
    return rows, [*_notes(table, columns), *text.values()]


def _notes(table: Table, columns: Columns) -> list[str]:
    ids = dict.fromkeys((columns.user, columns.item))
    floats = [name for name in ids if not table.is_text and table.schema[name].is_float()]
    notes = [f"ids of {name!r} are floats: 1.0 is read as 1" for name in floats]
    if table.absent > 0:
        notes.append(f"{table.absent:,} values at the ends of short rows count as missing")
    return notes


def _names(aspects: Sequence[str] | None) -> tuple[str, ...] | None:
    if aspects is None:
        return None
    if isinstance(aspects, str) or not isinstance(aspects, Iterable):
        raise ConfigError(f"aspects is {aspects!r}: give a list of columns, such as ['overall']")
    return tuple(aspects)


def _missing_numbers(given: Iterable[float]) -> Float32s:
    try:
        numbers = np.array(list(given), dtype=np.float32)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0), dtype=np.float32)
    if numbers.ndim != 1:
        raise ConfigError(f"missing_values is {given!r}: give a list of numbers, such as [-1]")
    return numbers


def _meant(table: Table, scale: ScaleLike | None) -> set[str]:
    """Return the columns that a scale names, a declared one or that of a file of our own."""
    declared = set(scale) if isinstance(scale, Mapping) else set()
    return declared | set(json.loads(table.metadata.get(SCALE_METADATA, "{}")))


def _report(table: Table, ratings: Ratings, left_out: Mapping[str, str], dropped: int) -> None:
    others = f" (not {in_words(left_out)}; aspects=[…] takes any)" if left_out else ""
    aspects = ", ".join(ratings.aspects)
    say(f"{table.name}: aspects {aspects}{others}; {len(ratings):,} rating vectors")
    if dropped:
        rule = "last row" if ratings.timestamps is None else "latest"
        say(f"{table.name}: {dropped:,} repeated (user, item) dropped, the {rule} kept")


def read_split(directory: str | os.PathLike[str], *, verbose: bool = False) -> Split:
    """Read the train, validation and test files that `dmrank prepare --split` wrote."""
    parts = [
        read_ratings(Path(directory) / f"{name}.parquet", verbose=verbose)
        for name in ("train", "validation", "test")
    ]
    return join_parts(*parts)


def join_parts(train: Ratings, validation: Ratings, test: Ratings) -> Split:
    """Make a split of parts that were read one by one."""
    return Split(*with_common_ids(train, validation=validation, test=test))


def with_common_ids(train: Ratings, **others: Ratings) -> list[Ratings]:
    """Give training ratings and other parts, by their names, a common id map."""
    for name, part in others.items():
        if part.aspects != train.aspects:
            raise DataError(
                f"{name} has other aspects than train "
                f"({', '.join(part.aspects)} against {', '.join(train.aspects)})"
            )
    parts = [train, *others.values()]
    unit = finest([part.time_unit for part in parts])
    parts = [part.in_time_unit(unit) for part in parts]
    users = _joined([part.users for part in parts])
    items = _joined([part.items for part in parts])
    name_of: dict[str, str] = {}
    for part in parts:
        if part.item_names is not None:
            name_of |= dict(zip(part.items.series, part.item_names, strict=True))
    names = pl.Series("item_name", [name_of.get(i, "") for i in items.series]) if name_of else None
    return [part.with_ids(users, items, names) for part in parts]


def _joined(parts: list[Ids]) -> Ids:
    """Return the ids of all parts, of the type of the first: a text file does not say its own."""
    texts = pl.concat([ids.series for ids in parts]).unique()
    return Ids(texts, kind=parts[0].kind, type_=parts[0].type)


def _scale_from(table: Table, aspects: Sequence[str]) -> ScaleLike | None:
    """Return the scale that a parquet file written by dmrank carries."""
    if SCALE_METADATA not in table.metadata:
        return None
    stored = json.loads(table.metadata[SCALE_METADATA])
    return {
        name: (low, high) for name, (low, high) in stored.items() if name in aspects and low <= high
    }
