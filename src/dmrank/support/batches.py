"""Arrow record batches: what Ray, Spark and Dask hand from one process to another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from dmrank.support.errors import DataError
from dmrank.support.extras import require

if TYPE_CHECKING:
    import pyarrow as pa


def to_batch(table: pl.DataFrame, notes: Mapping[str, Any] | None = None) -> pa.RecordBatch:
    """Return a table as one record batch, with JSON values beside it if there are any.

    Examples
    --------
    >>> batch = to_batch(pl.DataFrame({"user": ["ann"], "rank": [1]}), {"rows": 1})
    >>> batch.schema.field("user").type, notes_of(batch)
    (DataType(string), {'rows': 1})
    """
    require("pyarrow", "a record batch")
    import pyarrow as pa

    arrow = table.to_arrow(compat_level=pl.CompatLevel.oldest())
    # Text with offsets of 32 bits, the one that every engine takes.
    fields = [
        field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field
        for field in arrow.schema
    ]
    kept = None if notes is None else {"dmrank": json.dumps(notes)}
    batches = arrow.cast(pa.schema(fields, kept)).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], pa.schema(fields, kept))


def from_batch(batch: pa.RecordBatch, *needed: str) -> pl.DataFrame:
    """Return a record batch as a table; raise if it lacks a column.

    Examples
    --------
    >>> from_batch(to_batch(pl.DataFrame({"user": ["ann"]})), "item")
    Traceback (most recent call last):
        ...
    dmrank.DataError: the record batch has no column 'item': it has user
    """
    table = pl.from_arrow(batch)
    assert isinstance(table, pl.DataFrame)
    for name in needed:
        if name not in table.columns:
            raise DataError(
                f"the record batch has no column {name!r}: it has {', '.join(table.columns)}"
            )
    return table


def notes_of(batch: pa.RecordBatch) -> dict[str, Any]:
    """Return the JSON values beside a record batch of :func:`to_batch`."""
    notes = (batch.schema.metadata or {}).get(b"dmrank", b"{}")
    return dict(json.loads(notes))
