"""A table of lists: user, item, and rank or score."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import sparse

from dmrank.data.reading.opening import open_table
from dmrank.data.reading.tables import Table
from dmrank.evaluation.adapters.adapted import AdaptedScores
from dmrank.support.arrays import AnyFloats, Floats, Int64s
from dmrank.support.errors import DataError

#: What libraries call the columns.
_USER, _ITEM = ("user", "user_id", "userID", "userid"), ("item", "item_id", "itemID", "itemid")


def adapt_lists(source: object) -> AdaptedScores:
    """Take a table with a row per listed item; what is not listed comes last."""
    table = open_table(source)
    user, item = _column(table, _USER, "user"), _column(table, _ITEM, "item")
    order = _column(table, ("rank", "score"), "order (rank, from 1, or score)")
    rows = _read(table, user, item, order)
    if len(rows) == 0:
        raise DataError(f"{table.name} has no rows: there is no list in it")
    if rows.null_count().row(0) != (0, 0, 0) or not rows[order].is_finite().all():
        raise DataError(f"{table.name}: a row has no {user}, {item} or {order}: leave it out")
    if rows.select(user, item).is_duplicated().any():
        raise DataError(f"{table.name}: a user has an item twice: list each item once")
    users, items = (rows[name].unique(maintain_order=True) for name in (user, item))
    codes = [
        column.replace_strict(ids, np.arange(len(ids))).to_numpy()
        for column, ids in ((rows[user], users), (rows[item], items))
    ]
    values = rows[order].to_numpy()
    # Places from 1 on, so that a stored one is above what is not stored, which is 0.
    height = pl.Series(-values if order == "rank" else values).rank("dense").to_numpy()
    shape = (len(users), len(items))
    heights: Floats = height.astype(np.float64)
    stored = sparse.csr_array((heights, (codes[0], codes[1])), shape=shape)

    def score(of_users: Int64s) -> AnyFloats:
        block: Floats = stored[of_users].toarray()
        return np.where(block > 0, block, -np.inf)

    return AdaptedScores("lists", users.to_list(), items.to_list(), score, items_may_lack=True)


def _read(table: Table, user: str, item: str, order: str) -> pl.DataFrame:
    """Return the lists in double precision: in single precision, scores of a text could be equal.

    Null is what is missing, and what is no number.
    """
    text = [user, item, *([order] if table.is_text else [])]
    batches = list(table.batches(text=text, numbers=[], native=[] if table.is_text else [order]))
    if not batches:
        return pl.DataFrame()
    rows = pl.concat(batches).select(user, item, order)
    if table.commas:
        rows = rows.with_columns(rows[order].str.replace(",", ".", literal=True))
    return rows.with_columns(rows[order].cast(pl.Float64, strict=False))


def _column(table: Table, names: tuple[str, ...], purpose: str) -> str:
    for name in names:
        if name in table.schema:
            return name
    raise DataError(
        f"{table.name}: a table of lists needs a column for the {purpose}: call it {names[0]!r}"
    )
