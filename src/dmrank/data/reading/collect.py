"""Streamed batches -> compact arrays of codes, ratings and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dmrank.data.ids import Ids
from dmrank.data.indexing import Indexer
from dmrank.data.ratings import INTERACTION, Ratings
from dmrank.data.reading.columns import Columns, no_aspects
from dmrank.data.reading.found_aspects import DifferentValues
from dmrank.data.reading.numbers import MISSING_WORDS
from dmrank.data.reading.tables import Table
from dmrank.data.scale import ScaleLike, declared_scale
from dmrank.data.times import NO_TIMESTAMP, TimeReader, TimeUnit
from dmrank.support.arrays import Array, Bools, Float32s, Int32s, Int64s
from dmrank.support.errors import DataError

#: A number as JSON may write it, but no whole one of 64 bits: a larger one has lost digits.
_FRACTION = r"^-?(\d+(\.\d+([eE][+-]?\d+)?|[eE][+-]?\d+)|\d{21,})$"


@dataclass(frozen=True)
class Collected:
    """The rows of a table in their order, ids as codes, values in blocks of rows."""

    users: Int32s
    items: Int32s
    user_ids: Ids
    item_ids: Ids
    aspects: tuple[str, ...]
    values: list[Float32s]
    timestamps: Int64s | None
    time_unit: TimeUnit
    item_names: pl.Series | None
    repeated: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_ratings(self, scale: ScaleLike | None) -> Ratings:
        """Sort the rows and keep the latest of each (user, item)."""
        return Ratings.from_codes(
            self.user_ids,
            self.item_ids,
            self.users,
            self.items,
            self.values,
            aspects=self.aspects,
            scale=scale,
            timestamps=self.timestamps,
            time_unit=self.time_unit,
            item_names=self.item_names,
        )


def collect_wide(
    table: Table, columns: Columns, missing: Float32s, scale: ScaleLike | None
) -> Collected:
    """Collect a table with one column per aspect."""
    names = columns.aspects or ()
    aspects = names or (INTERACTION,)
    bounds = declared_scale(scale, aspects)
    collector = _Collector(table, columns)
    different = DifferentValues(names) if columns.found else None
    for batch in collector.stream(names):
        if names:
            values = _to_array(batch[list(names)], missing)
            _check_values(table.name, values, aspects, bounds, collector.first_row)
            if different is not None:
                different.add(values)
        else:
            values = np.ones((len(batch), 1), dtype=np.float32)
        collector.values.append(values)
    rows = replace(collector.finish(aspects), left_out=columns.left_out)
    if different is None:
        return rows
    unlike = different.unlike_ratings().items()
    return _leave_out(table, rows, {name: why for name, why in unlike if name not in columns.meant})


def _leave_out(table: Table, rows: Collected, unlike: Mapping[str, str]) -> Collected:
    """Leave columns out that have other values than ratings have."""
    if not unlike:
        return rows
    left_out = {**rows.left_out, **unlike}
    kept = [k for k, name in enumerate(rows.aspects) if name not in unlike]
    if not kept:
        raise no_aspects(table.name, left_out)
    return replace(
        rows,
        aspects=tuple(rows.aspects[k] for k in kept),
        values=[np.ascontiguousarray(block[:, kept]) for block in rows.values],
        left_out=left_out,
    )


def collect_long(
    table: Table, columns: Columns, missing: Float32s, scale: ScaleLike | None
) -> Collected:
    """Collect a table with one row per user, item and aspect."""
    aspect, rating = str(columns.aspect), str(columns.rating)
    collector = _Collector(table, columns)
    aspect_index = _AspectIndex(table, aspect)
    codes: list[Int32s] = []
    for batch in collector.stream([rating], [aspect]):
        codes.append(aspect_index.add(batch[aspect], collector.first_row))
        values = _to_array(batch[[rating]], missing)
        _check_values(table.name, values, [rating], {}, collector.first_row)
        collector.values.append(values)
    found = tuple(aspect_index.code_of)
    long = collector.finish(found)
    aspect_codes, stars = _join(codes, np.int32), _join(long.values, np.float32)
    for k, (low, high) in declared_scale(scale, found).items():
        of_aspect = np.where(aspect_codes[:, None] == k, stars, np.nan)
        _check_values(table.name, of_aspect, [found[k]], {0: (low, high)}, 1)
    wide = _pivot(long, aspect_codes, stars[:, 0])
    return (
        wide if columns.aspects is None else _select_aspects(table, aspect, wide, columns.aspects)
    )


class _AspectIndex:
    """Codes of the aspects of a long table, in the order of appearance."""

    def __init__(self, table: Table, column: str) -> None:
        self.table, self.column = table, column
        self.code_of: dict[str, int] = {}

    def add(self, names: pl.Series, first_row: int) -> Int32s:
        """Return the codes of a batch of aspect names."""
        names = names.alias("aspect")
        if names.null_count():
            row = first_row + (names.is_null().arg_max() or 0)
            raise DataError(
                f"{self.table.name}: column {self.column!r}, row {row:,}: the aspect is empty; "
                "every row of a long table names its aspect"
            )
        for name in names.unique(maintain_order=True):
            self.code_of.setdefault(name, len(self.code_of))
        codes = names.replace_strict(self.code_of, return_dtype=pl.Int32)
        return codes.to_numpy()


def _pivot(long: Collected, aspect_codes: Int32s, stars: Float32s) -> Collected:
    """Put the rows of one (user, item) side by side.

    With timestamps the latest evaluation counts: older rows of the same (user, item) go. Of an
    aspect that is still repeated the last row counts.
    """
    key = long.users.astype(np.int64) * len(long.item_ids) + long.items
    pairs, pair_of_row = np.unique(key, return_inverse=True)
    values = np.full((len(pairs), len(long.aspects)), np.nan, dtype=np.float32)
    latest = None
    keep: Bools | slice = slice(None)
    if long.timestamps is not None:
        latest = np.full(len(pairs), NO_TIMESTAMP)
        np.maximum.at(latest, pair_of_row, long.timestamps)
        keep = long.timestamps == latest[pair_of_row]
    values[pair_of_row[keep], aspect_codes[keep]] = stars[keep]
    distinct = np.unique(pair_of_row * np.int64(len(long.aspects)) + aspect_codes)
    users, items = np.divmod(pairs, len(long.item_ids))
    return replace(
        long,
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        values=[values],
        timestamps=latest,
        repeated=len(key) - len(distinct),
    )


def _select_aspects(
    table: Table, column: str, rows: Collected, wanted: tuple[str, ...]
) -> Collected:
    for name in wanted:
        if name not in rows.aspects:
            raise DataError(
                f"{table.name}: column {column!r} never names the aspect {name!r}; "
                f"it has {', '.join(rows.aspects)}"
            )
    chosen = [rows.aspects.index(name) for name in wanted]
    return replace(rows, aspects=wanted, values=[block[:, chosen] for block in rows.values])


def _to_array(columns: pl.DataFrame, missing: Float32s) -> Float32s:
    values = columns.to_numpy(order="c", writable=True)
    for number in missing:
        values[values == number] = np.nan
    return values


def _check_values(
    table: str,
    values: Float32s,
    columns: Sequence[str],
    bounds: dict[int, tuple[float, float]],
    first_row: int,
) -> None:
    """Raise on an infinite value, or one outside its declared scale, naming column and row."""

    def refuse(bad: Bools, k: int, reason: str) -> None:
        if bad.any():
            row = int(bad.argmax())
            raise DataError(
                f"{table}: column {columns[k]!r}, row {first_row + row:,}: "
                f"{values[row, k]:g} {reason}"
            )

    for k in range(values.shape[1]):
        column = values[:, k]
        refuse(np.isinf(column), k, "is infinite; ratings are finite numbers")
        if k in bounds:
            low, high = bounds[k]
            refuse((column < low) | (column > high), k, f"is outside the scale {low:g} to {high:g}")


class _Collector:
    """Takes streamed batches and keeps codes, values and times in compact arrays."""

    def __init__(self, table: Table, columns: Columns) -> None:
        self.table, self.columns = table, columns
        self.user_index = Indexer("user", table.id_type(columns.user))
        self.item_index = Indexer("item", table.id_type(columns.item))
        self.users: list[Int32s] = []
        self.items: list[Int32s] = []
        self.values: list[Float32s] = []
        self.times = TimeReader(table.name, MISSING_WORDS)
        self.names: list[pl.DataFrame] = []
        self.first_row = 1

    def stream(self, numbers: Sequence[str], text: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
        """Yield the batches, after taking the columns that wide and long tables have alike."""
        columns = self.columns
        text = [columns.user, columns.item, *text]
        native: list[str] = []
        if columns.item_name is not None:
            text.append(columns.item_name)
        if columns.timestamp is not None:
            (text if self.table.is_text else native).append(columns.timestamp)
        for batch in self.table.batches(
            text=list(dict.fromkeys(text)), numbers=numbers, native=native
        ):
            # Under names of our own: Polars takes a Series named "^x$" for a pattern.
            users, items = batch[columns.user].alias("user"), batch[columns.item].alias("item")
            self._check_ids(users, items)
            self.users.append(self.user_index.add(users))
            self.items.append(self.item_index.add(items))
            if columns.timestamp is not None:
                self.times.add(batch[columns.timestamp], self.first_row)
            if columns.item_name is not None:
                self.names.append(self._new_names(batch, columns.item_name))
            yield batch
            self.first_row += len(batch)

    def _check_ids(self, users: pl.Series, items: pl.Series) -> None:
        for ids, column in ((users, self.columns.user), (items, self.columns.item)):
            purpose = ids.name
            empty = (ids == "").fill_null(True)
            if empty.any():
                row = self.first_row + (empty.arg_max() or 0)
                raise DataError(
                    f"{self.table.name}: column {column!r}, row {row:,}: the {purpose} is empty; "
                    f"every row needs a {purpose} id"
                )
            if column in self.table.json_numbers:
                broken = ids.str.contains(_FRACTION)
                if broken.any():
                    row = broken.arg_max() or 0
                    raise DataError(
                        f"{self.table.name}: column {column!r}, row {self.first_row + row:,}: "
                        f"{ids[row]} is no whole number of 64 bits; ids are texts, or such numbers"
                    )
        if self.table.is_text:
            header = (users == self.columns.user) & (items == self.columns.item)
            if header.any():
                row = self.first_row + (header.arg_max() or 0)
                raise DataError(
                    f"{self.table.name}: row {row:,} repeats the header: take out that row"
                )

    def _new_names(self, batch: pl.DataFrame, column: str) -> pl.DataFrame:
        codes = pl.Series("code", self.items[-1])
        named = pl.DataFrame([codes, batch[column].alias("name")])
        return named.filter(pl.col("name") != "").unique("code", keep="last")

    def finish(self, aspects: tuple[str, ...]) -> Collected:
        """Give the ids their final codes and join the batches."""
        user_ids, final_user = self.user_index.finish()
        item_ids, final_item = self.item_index.finish()
        times = self.times.finish() if self.columns.timestamp is not None else None
        return Collected(
            users=_replace(_join(self.users, np.int32), final_user),
            items=_replace(_join(self.items, np.int32), final_item),
            user_ids=user_ids,
            item_ids=item_ids,
            aspects=aspects,
            values=self.values,
            timestamps=None if times is None else times.values,
            time_unit="s" if times is None else times.unit,
            item_names=self._item_names(final_item) if self.names else None,
        )

    def _item_names(self, final_item: Int32s) -> pl.Series:
        """Return a name per item; of several names for one item the last counts."""
        found = pl.concat(self.names).unique("code", keep="last")
        names = np.full(len(final_item), "", dtype=object)
        names[final_item[found["code"].to_numpy()]] = found["name"].to_numpy()
        return pl.Series("item_name", names, dtype=pl.String)


def _replace(codes: Int32s, by: Int32s) -> Int32s:
    # In place: fresh memory for another array of this length costs more than the look-up.
    return np.take(by, codes, out=codes, mode="clip")


def _join(parts: list[Any], dtype: type) -> Array:
    """Concatenate, dropping each part as soon as it is copied, so that two copies never coexist."""
    if not parts:
        return np.empty(0, dtype=dtype)
    joined = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=dtype)
    end = len(joined)
    while parts:
        part = parts.pop()
        joined[end - len(part) : end] = part
        end -= len(part)
    return joined
