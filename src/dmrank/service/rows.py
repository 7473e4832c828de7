"""Rows of lists, from arrays and tables to messages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from dmrank.answers.list_rows import ListRows
from dmrank.service.messages import Row
from dmrank.service.served import Served
from dmrank.support.arrays import AnyFloats, Floats, Int32s

#: Digits after the point: what float32 has of a rating.
DIGITS = 6


class PlainRows(NamedTuple):
    """Rows of lists as Python's own numbers, rounded; of many lists at once, for that is faster.

    Attributes
    ----------
    items : list of int
        Codes.
    numbers : list of list of float
        Of each row its score; then, where it was asked what rows are made of, exposure,
        `better_than_next`, ratings and contributions as in `ListRows`, NaN for what the model
        cannot tell (which is written as null).
    has_parts : bool
        Whether it was asked.
    """

    items: list[int]
    numbers: list[list[float]]
    has_parts: bool

    @classmethod
    def from_arrays(cls, rows: ListRows) -> PlainRows:
        """Take the rows of lists."""
        known = (rows.scores, rows.exposure, rows.better_than_next)
        aspects = rows.ratings.shape[1]
        numbers = np.full((len(rows.items), 3 + 2 * aspects), np.nan)
        for column, each in enumerate(known):
            if each is not None:
                numbers[:, column] = each
        numbers[:, 3 : 3 + aspects] = rows.ratings
        numbers[:, 3 + aspects :] = rows.contributions
        return cls(rows.items.tolist(), _rounded(numbers), True)

    @classmethod
    def without_parts(cls, items: Int32s, scores: AnyFloats) -> PlainRows:
        """Take items and scores alone."""
        return cls(items.tolist(), _rounded(scores[:, None].astype(np.float64)), False)

    def of(self, start: int, stop: int) -> PlainRows:
        """Return some of the rows."""
        return PlainRows(self.items[start:stop], self.numbers[start:stop], self.has_parts)


def _rounded(numbers: Floats) -> list[list[float]]:
    plain: list[list[float]] = np.round(numbers, DIGITS, out=numbers).tolist()
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
    ids, names = served.item_ids, served.item_names
    shown = zip(rows.items[offset : offset + n], rows.numbers[offset : offset + n], strict=True)
    ranked = enumerate(shown, start=offset + 1)
    if not rows.has_parts:
        return [Row(at, ids[item], names[item], score) for at, (item, (score,)) in ranked]
    values, end = served.values_type, 3 + len(served.aspects)
    return [
        Row(
            at,
            ids[item],
            names[item],
            numbers[0],
            numbers[1],
            values(*numbers[3:end]),
            values(*numbers[end:]),
            numbers[2],
        )
        for at, (item, numbers) in ranked
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
