"""Tables of reviews: which column means what, and streaming them in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.errors import DataError
from dmrank.tables import Table
from dmrank.text.reading import clean_texts

#: Reviews that are held in memory at a time.
BLOCK: Final = 4_096


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
        names = {"text": self.text}
        if self.title is not None:
            names["title"] = self.title
        if ids:
            names |= {"user": self.user, "item": self.item}
            if self.item_name is not None:
                names["item_name"] = self.item_name
        native = []
        if ids and self.timestamp is not None:
            temporal = table.schema[self.timestamp].is_temporal()
            names["timestamp"] = self.timestamp
            native = [self.timestamp] if temporal else []
        texts = [column for column in names.values() if column not in native]
        numbers = [] if self.overall is None else [self.overall]
        batches = table.batches(text=list(dict.fromkeys(texts)), numbers=numbers, native=native)
        for batch in batches:
            for start in range(0, len(batch), BLOCK):
                yield self._block(batch[start : start + BLOCK], names)

    def _block(self, rows: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        kept = [rows[names[n]].alias(n) for n in names if n not in ("text", "title")]
        title = None if self.title is None else rows[self.title]
        text = clean_texts(rows[self.text], title).alias("text")
        overall = [] if self.overall is None else [rows[self.overall].alias("overall")]
        return pl.DataFrame([*kept, *overall, text])


def count_reviews(table: Table, columns: ReviewColumns) -> int:
    """Count the rows of a table without keeping them."""
    with table.readable():
        rows = table.scan({columns.text: pl.String}).select(pl.len()).collect(engine="streaming")
    return int(rows.item())


def sample_reviews(
    table: Table, columns: ReviewColumns, most: int, *, seed: int = 0
) -> pl.DataFrame:
    """Return the text and, if known, overall rating of at most so many reviews, spread evenly.

    Without an overall rating, or without text, a review is not drawn.
    """
    random = np.random.default_rng(seed)
    kept = pl.DataFrame()
    for block in columns.stream(table, ids=False):
        keys = pl.Series("key", random.random(len(block)))
        rows = block.with_columns(keys).filter(pl.col("text").str.contains(r"\S"))
        if columns.overall is not None:
            rows = rows.filter(pl.col("overall").is_not_nan() & pl.col("overall").is_not_null())
        kept = pl.concat([kept, rows], how="diagonal") if len(kept) else rows
        if len(kept) > 2 * most:
            kept = kept.bottom_k(most, by="key")
    # In the order of the table, whatever was dropped on the way.
    kept = kept.with_row_index("row").bottom_k(most, by="key").sort("row")
    return kept.drop("row", "key")


def to_stars(
    values: NDArray[np.float32], scale: tuple[float, float], name: str, column: str, first_row: int
) -> NDArray[np.float64]:
    """Map overall ratings to stars from 1 to 5, refusing those outside the scale."""
    low, high = scale
    bad = (values < low) | (values > high)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{name}: column {column!r}, row {first_row + row:,}: {values[row]:g} is outside the "
            f"scale {low:g} to {high:g}; give the scale with scale=(low, high)"
        )
    return 1.0 + 4.0 * (values.astype(np.float64) - low) / (high - low)
