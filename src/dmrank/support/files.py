"""Files: the table formats, and writing so that a killed run never leaves half a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import polars as pl

from dmrank.support.errors import DataError

Format = Literal[".csv", ".tsv", ".parquet", ".jsonl"]
FORMATS: tuple[Format, ...] = (".csv", ".tsv", ".parquet", ".jsonl")


def table_format(path: Path) -> tuple[Format, bool]:
    """Return the format of a table, by the ending of its name, and whether it is gzipped.

    Examples
    --------
    >>> table_format(Path("reviews.csv.gz"))
    ('.csv', True)
    """
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    for ending in FORMATS:
        if name.removesuffix(".gz").endswith(ending) and not (gzipped and ending == ".parquet"):
            return ending, gzipped
    raise DataError(
        f"{path}: cannot tell the format from the name; it should end in .csv, .tsv or .jsonl "
        "(plain or .gz), or in .parquet"
    )


def is_table(path: Path) -> bool:
    """Return whether a name ends as that of a table.

    Examples
    --------
    >>> is_table(Path("lists.csv.gz")), is_table(Path("hotels.dmrank"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(tuple(FORMATS))


def write_table(
    table: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Write a table whole or not at all, in the format that the ending of the path says.

    Parameters
    ----------
    table : polars.DataFrame or polars.LazyFrame
        The rows; those of a lazy frame pass through in blocks and are never in memory together.
    path : path
        The file; see :func:`table_format`.
    metadata : mapping of str to str, optional
        Kept in parquet files only.
    """
    target = Path(path)
    ending, gzipped = table_format(target)
    rows = table.lazy()
    compression: Literal["gzip", "uncompressed"] = "gzip" if gzipped else "uncompressed"
    with atomic_path(target) as temporary:
        if ending == ".parquet":
            rows.sink_parquet(temporary, metadata=dict(metadata or {}))
        elif ending == ".jsonl":
            rows.sink_ndjson(temporary, compression=compression, check_extension=False)
        else:
            separator = "\t" if ending == ".tsv" else ","
            rows.sink_csv(
                temporary, separator=separator, compression=compression, check_extension=False
            )
    return target


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `target`; rename it to `target` when the block succeeds.

    If the block raises or the process dies, `target` is as it was before.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_path(folder / "note.txt") as path:
    ...     _ = path.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    final = Path(target)
    if final.is_dir():
        raise DataError(f"{final} is a directory: name a file to write to")
    final.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=f".part{final.suffix}", dir=final.parent)
    os.close(handle)
    temporary = Path(name)
    # mkstemp makes private files; the result should have the permissions any new file has.
    temporary.chmod(0o666 & ~_umask())
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
