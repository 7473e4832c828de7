"""Tables that are written while they are made, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dmrank.support.files import write_table


def write_frames(
    frames: Iterable[pl.DataFrame],
    schema: Mapping[str, Any],
    out: Path,
    *,
    safe_cells: bool = False,
) -> int:
    """Write tables one after the other into one file, whole or not at all; return the rows.

    Parameters
    ----------
    frames : iterable of polars.DataFrame
        They are asked for one by one, and not kept.
    schema : mapping of str to polars type
        The columns that all of them have.
    out, safe_cells
        See :func:`dmrank.support.files.write_table`.

    Examples
    --------
    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp()) / "two.csv"
    >>> write_frames([pl.DataFrame({"n": [1]}), pl.DataFrame({"n": [2]})], {"n": pl.Int64}, out)
    2
    >>> out.read_text().split()
    ['n', '1', '2']
    """
    stream = _Stream(frames)
    try:
        rows = pl.io.plugins.register_io_source(stream.batches, schema=dict(schema))
        write_table(rows, out, safe_cells=safe_cells)
    except pl.exceptions.PolarsError as error:
        # What a block has raised, Polars reports as an error of its own.
        raise stream.failure or error from None
    return stream.rows


class _Stream:
    def __init__(self, frames: Iterable[pl.DataFrame]) -> None:
        self.frames = frames
        self.rows = 0
        self.failure: BaseException | None = None

    def batches(self, columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        """Give the next block when Polars asks for it."""
        try:
            for frame in self.frames:
                self.rows += len(frame)
                yield frame if columns is None else frame.select(columns)
        except (Exception, KeyboardInterrupt) as error:
            self.failure = error
            raise
