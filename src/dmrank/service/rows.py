"""Rows of lists, from arrays and tables to messages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from dmrank.answers.list_rows import ListRows
from dmrank.service.messages import Row
from dmrank.service.served import Served
from dmrank.support.arrays import AnyFloats, Int32s

#: Digits after the point: what float32 has of a rating.
DIGITS = 6


class PlainRows(NamedTuple):
    """Rows of lists as Python's own numbers, rounded; of many lists at once, for that is faster.

    Attributes are those of `ListRows`, or None where nobody asked what rows are made of; NaN is
    written as null.
    """

    items: list[int]
    scores: list[float]
    exposure: list[float] | None
    ratings: list[list[float]] | None
    contributions: list[list[float]] | None
    better_than_next: list[float] | None

    @classmethod
    def from_arrays(cls, rows: ListRows) -> PlainRows:
        """Take the rows of lists."""
        numbers = (None if each is None else _plain(each) for each in rows[2:])
        return cls(rows.items.tolist(), *numbers)  # type: ignore[arg-type]

    @classmethod
    def without_parts(cls, items: Int32s, scores: AnyFloats) -> PlainRows:
        """Take items and scores alone."""
        return cls(items.tolist(), _plain(scores), None, None, None, None)

    def of(self, start: int, stop: int) -> PlainRows:
        """Return some of the rows."""
        return PlainRows(*[each and each[start:stop] for each in self])  # type: ignore[arg-type]


def _plain(numbers: AnyFloats) -> list[Any]:
    plain: list[Any] = np.round(numbers.astype(np.float64), DIGITS).tolist()
    return plain


def rows_of_lists(served: Served, rows: PlainRows, offset: int, n: int) -> list[Row]:
    """Return n rows of a list, from one on.

    Parameters
    ----------
    served : Served
        The model.
    rows : PlainRows
        One list.
    offset, n : int
        Which of its rows.
    """
    ids, names, values = served.item_ids, served.item_names, served.values_type
    exposure, better = rows.exposure, rows.better_than_next
    ratings, contributions = rows.ratings, rows.contributions
    return [
        Row(
            at + 1,
            ids[rows.items[at]],
            names[rows.items[at]],
            rows.scores[at],
            None if exposure is None else exposure[at],
            None if ratings is None else values(*ratings[at]),
            None if contributions is None else values(*contributions[at]),
            None if better is None else better[at],
        )
        for at in range(offset, min(offset + n, len(rows.items)))
    ]


def rows_of_table(served: Served, table: pl.DataFrame, *, aspects: bool) -> list[Row]:
    """Return the rows of a table that `Model.recommend` has made."""
    taken = {"user", "rank", "item", "score", "item_name", "personal"}
    columns = {name: f"{name}_rating" if name in taken else name for name in served.aspects}
    return [
        Row(
            rank=row["rank"],
            item=row["item"],
            name=row.get("item_name") or None,
            score=round(row["score"], DIGITS),
            ratings={name: row[column] for name, column in columns.items()} if aspects else None,
        )
        for row in table.iter_rows(named=True)
    ]
