"""Lists of many users in one file: they pass through in blocks, however many users there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dmrank.data.ids import Id
from dmrank.models import Model
from dmrank.support.files import write_table
from dmrank.support.progress import bar

_USERS_AT_ONCE = 16_384


def write_lists(
    model: Model,
    users: Sequence[Id],
    n: int,
    options: dict[str, Any],
    out: Path,
    *,
    safe_cells: bool = False,
) -> int:
    """Write the lists of many users, whole or not at all, and return the number of rows."""
    schema = model.recommend([], n, **options).schema
    stream = _Stream(model, users, n, options)
    try:
        rows = pl.io.plugins.register_io_source(stream.batches, schema=dict(schema))
        write_table(rows, out, safe_cells=safe_cells)
    except pl.exceptions.PolarsError as error:
        # What a block has raised, Polars reports as an error of its own.
        raise stream.failure or error from None
    return stream.rows


class _Stream:
    """Lists of users, block by block, with a progress bar."""

    def __init__(self, model: Model, users: Sequence[Id], n: int, options: dict[str, Any]) -> None:
        self.model, self.users, self.n, self.options = model, users, n, options
        self.rows = 0
        self.failure: BaseException | None = None

    def batches(self, columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        """Rank, as Polars asks for the next block."""
        lists = self.model.recommend_blocks(
            self.users, self.n, users_per_block=_USERS_AT_ONCE, **self.options
        )
        try:
            with bar("ranking", total=len(self.users)) as progress:
                for done, block in enumerate(lists, start=1):
                    self.rows += len(block)
                    progress.update(min(done * _USERS_AT_ONCE, len(self.users)))
                    yield block if columns is None else block.select(columns)
        except (Exception, KeyboardInterrupt) as error:
            self.failure = error
            raise
