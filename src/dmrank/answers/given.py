"""Ratings that a caller hands to a fitted model: checked against what the model knows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from dmrank.data.ratings import RESERVED_COLUMNS, Ratings
from dmrank.data.reading.opening import open_table
from dmrank.fitted.catalogue import Catalogue
from dmrank.support.arrays import Float32s
from dmrank.support.errors import DataError, UnknownAspectError, did_you_mean


class Given(NamedTuple):
    """Rows as the caller gave them.

    Attributes
    ----------
    users, items : polars Series
        Ids as text.
    values : float32 array, n × K
        Ratings on their own scale, one column per aspect of the model, NaN where missing.
    """

    users: pl.Series
    items: pl.Series
    values: Float32s


def given_ratings(source: object, catalogue: Catalogue) -> Given:
    """Take Ratings, or a table with user, item and some of the model's aspects.

    Parameters
    ----------
    source : Ratings or table
        A table is a polars, pandas or Arrow one, or a file.
    catalogue : Catalogue
        What the model knows.
    """
    if isinstance(source, Ratings):
        users = source.users.series[source.user_codes]
        items = source.items.series[source.item_codes]
        table, names = source.values, list(source.aspects)
    else:
        users, items, table, names = _read(source, catalogue)
    values = np.full((len(users), len(catalogue.aspects)), np.nan, dtype=np.float32)
    for column, name in enumerate(names):
        values[:, catalogue.aspect(name)] = table[:, column]
    _check_scale(users, items, values, catalogue)
    return Given(users, items, values)


def _read(source: object, catalogue: Catalogue) -> tuple[pl.Series, pl.Series, Float32s, list[str]]:
    table = open_table(source)
    for column in ("user", "item"):
        table.require(column, column)
    names = [name for name in table.schema if name not in RESERVED_COLUMNS]
    for name in names:
        if name not in catalogue.aspects:
            hint = did_you_mean(name, catalogue.aspects)
            raise UnknownAspectError(f"column {name!r} is no aspect of the model; {hint}")
    if isinstance(source, pl.DataFrame) and _is_typed(source, names):
        rows = source  # a request of a few rows is read ten times faster without streaming
    else:
        batches = list(replace(table, careful=True).batches(text=["user", "item"], numbers=names))
        rows = pl.concat(batches) if batches else pl.DataFrame()
    if len(rows) == 0:
        raise DataError(f"{table.name} has no rows: give at least one")
    for column in ("user", "item"):
        if rows[column].null_count():
            raise DataError(f"{table.name}: a row has no {column}: give every row an id")
    values = np.empty((len(rows), len(names)), dtype=np.float32)
    with np.errstate(over="ignore"):  # what float32 does not hold is on no scale
        for k, name in enumerate(names):
            values[:, k] = rows[name].to_numpy()  # null becomes NaN
    users, items = (rows[column].cast(pl.String) for column in ("user", "item"))
    return users, items, values, names


def _is_typed(table: pl.DataFrame, names: list[str]) -> bool:
    return all(table[name].dtype.is_numeric() for name in names) and all(
        table[name].dtype == pl.String or table[name].dtype.is_integer()
        for name in ("user", "item")
    )


def _check_scale(
    users: pl.Series, items: pl.Series, values: Float32s, catalogue: Catalogue
) -> None:
    # An aspect that nobody has rated may have no scale: NaN compares as false.
    low, high = catalogue.scale.T
    outside = (values < low) | (values > high) | np.isinf(values)
    if outside.any():
        row, k = np.argwhere(outside)[0]
        raise DataError(
            f"rating {values[row, k]:g} of {catalogue.aspects[k]!r} (user {users[int(row)]!r}, "
            f"item {items[int(row)]!r}) is outside its scale {low[k]:g}–{high[k]:g}"
        )
