"""Tables of reviews: which column means what, and streaming them in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from dmrank.data.reading.tables import Table, Types
from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError, DataError
from dmrank.text.reading import clean_texts

#: Reviews that are held in memory at a time.
BLOCK: Final = 4_096
_WINDOW: Final = 32_768


@dataclass(frozen=True)
class ReviewColumns:
    """Which column of a table of reviews means what."""

    text: str = "text"
    user: str = "user"
    item: str = "item"
    overall: str | None = None
    title: str | None = None
    timestamp: str | None = None
    item_name: str | None = None

    def resolve(self, table: Table, *, ids: bool = True) -> ReviewColumns:
        """Check the columns against a table, and take title, timestamp and item_name if present."""
        table.require(self.text, "text")
        if not table.schema[self.text] == pl.String:
            raise DataError(
                f"{table.name}: column {self.text!r} is {table.schema[self.text]}, not text; name "
                "the column with the reviews with text=COLUMN"
            )
        for column, purpose in (
            *(((self.user, "user"), (self.item, "item")) if ids else ()),
            (self.overall, "overall"),
            (self.title, "title"),
            (self.timestamp, "timestamp"),
            (self.item_name, "item_name"),
        ):
            if column is not None:
                table.require(column, purpose)
        present = {
            name: name
            for name in ("title", "timestamp", "item_name")
            if getattr(self, name) is None and name in table.schema
        }
        return replace(self, **present)

    def stream(self, table: Table, *, ids: bool = True) -> Iterator[pl.DataFrame]:
        """Yield blocks with the columns user, item, item_name, timestamp, overall and text.

        The text is clean, with the title before it; the others are there if the table has them.
        """
        return map(with_clean_text, self.stream_raw(table, ids=ids))

    def stream_raw(self, table: Table, *, ids: bool = True) -> Iterator[pl.DataFrame]:
        """Yield the same with the text as it is, and the title in a column of its own."""
        names = {"text": self.text}
        if self.title is not None:
            names["title"] = self.title
        if ids:
            names |= {"user": self.user, "item": self.item}
            if self.item_name is not None:
                names["item_name"] = self.item_name
        native = []
        if ids and self.timestamp is not None:
            type_ = table.schema[self.timestamp]
            as_it_is = type_.is_temporal() or (type_.is_float() and not table.is_text)
            names["timestamp"] = self.timestamp
            native = [self.timestamp] if as_it_is else []
        texts = [column for column in names.values() if column not in native]
        numbers = [] if self.overall is None else [self.overall]
        for window in _windows(replace(table, careful=True), self.text):
            for batch in window.batches(
                text=list(dict.fromkeys(texts)), numbers=numbers, native=native
            ):
                for start in range(0, len(batch), BLOCK):
                    yield self._block(batch[start : start + BLOCK], names)

    def _block(self, rows: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        # Under names of our own: Polars takes a Series named "^x$" for a pattern.
        kept = [rows[names[n]].alias(n) for n in names if n not in ("text", "title")]
        said = [rows[names[n]].alias(n) for n in ("title", "text") if n in names]
        overall = [] if self.overall is None else [rows[self.overall].alias("overall")]
        return pl.DataFrame([*kept, *overall, *said])


def with_clean_text(rows: pl.DataFrame) -> pl.DataFrame:
    r"""Return reviews with clean text, the title before it if there is one.

    Examples
    --------
    >>> with_clean_text(pl.DataFrame({"title": ["Good"], "text": ["Bed &amp; tea"]})).item()
    'Good\nBed & tea'
    """
    title = rows["title"] if "title" in rows.columns else None
    text = clean_texts(rows["text"], title).alias("text")
    return rows.drop("text", "title", strict=False).with_columns(text)


def _windows(table: Table, column: str) -> Iterator[Table]:
    """Cut a parquet file into windows of rows: Polars would read far ahead in a long one."""
    if not table.name.endswith(".parquet"):
        yield table
        return
    rows = _count_rows(table, column)
    for start in range(0, rows, _WINDOW):

        def scan(types: Types, start: int = start) -> pl.LazyFrame:
            return table.scan(types).slice(start, _WINDOW)

        length = min(_WINDOW, rows - start)
        yield replace(table, scan=scan, first_row=start + 1, rows=length, claims=())


def count_reviews(table: Table, columns: ReviewColumns) -> int:
    """Count the rows of a table without keeping them."""
    return _count_rows(table, columns.text)


def _count_rows(table: Table, column: str) -> int:
    with table.readable():
        rows = table.scan({column: pl.String}).select(pl.len()).collect(engine="streaming")
    return int(rows.item())


def sample_reviews(
    table: Table, columns: ReviewColumns, most: int, scale: tuple[float, float], *, seed: int = 0
) -> pl.DataFrame:
    """Return the text and, if known, stars from 1 to 5 of at most so many reviews, spread evenly.

    Without an overall rating, or without text, a review is not drawn.
    """
    random = np.random.default_rng(seed)
    drawn = _Drawn(most)
    done = 0
    for block in columns.stream(table, ids=False):
        rows = block.with_columns(pl.Series("key", random.random(len(block))))
        if columns.overall is not None:
            stars = to_stars(block["overall"], scale, table.name, columns.overall, done + 1)
            rows = rows.with_columns(pl.Series("overall", stars)).filter(~np.isnan(stars))
        done += len(block)
        drawn.add(rows.filter(pl.col("text").str.contains(r"\S")))
    return drawn.finish()


class _Drawn:
    """The rows with the lowest keys so far, a few more than wanted."""

    def __init__(self, most: int) -> None:
        self.most, self.highest = most, np.inf
        self.frames: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        rows = rows.filter(pl.col("key") < self.highest)
        # Copied one by one: a slice of a column would keep all texts of its block in memory.
        self.frames.append(rows.with_columns(pl.Series("text", rows["text"].to_list(), pl.String)))
        if sum(map(len, self.frames)) > 2 * self.most:
            self._shrink()

    def _shrink(self) -> None:
        kept = pl.concat(self.frames)
        self.highest = float(np.partition(kept["key"].to_numpy(), self.most)[self.most])
        self.frames = []
        self.add(kept)

    def finish(self) -> pl.DataFrame:
        """Return what is wanted, in the order of the table."""
        if sum(map(len, self.frames)) > self.most:
            self._shrink()
        return pl.concat(self.frames).drop("key") if self.frames else pl.DataFrame({"text": []})


def to_stars(
    overall: pl.Series, scale: tuple[float, float], name: str, column: str, first_row: int
) -> Floats:
    """Map overall ratings to stars from 1 to 5, NaN where missing; refuse those off the scale."""
    low, high = scale
    if not (np.isfinite(scale).all() and low < high):
        raise ConfigError(f"scale ({low:g}, {high:g}): low must be below high, such as (1, 5)")
    values = overall.fill_null(np.nan).to_numpy()
    bad = (values < low) | (values > high)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{name}: column {column!r}, row {first_row + row:,}: {values[row]:g} is outside the "
            f"scale {low:g} to {high:g}; give the scale with scale=(low, high)"
        )
    return 1.0 + 4.0 * (values.astype(np.float64) - low) / (high - low)
