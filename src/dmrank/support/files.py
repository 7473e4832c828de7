"""Files: the table formats, and writing so that a killed run never leaves half a file."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import polars as pl

from dmrank.support.errors import ConfigError, DataError
from dmrank.support.targets import check_file, check_target, disk_error, unwritable

Format = Literal[".csv", ".tsv", ".parquet", ".jsonl"]
#: How cells begin that spreadsheets compute; letters of full width count as the others.
_FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
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


def check_table(path: Path, *, safe_cells: bool = False) -> None:
    """Raise if a table cannot be written there, before anything is done for it."""
    _check_format(path, safe_cells)
    check_target(path)


def _check_format(path: Path, safe_cells: bool) -> tuple[Format, bool]:
    ending, gzipped = table_format(path)
    if safe_cells and ending not in (".csv", ".tsv"):
        raise ConfigError(
            f"{path}: --safe-cells is for .csv and .tsv files, others have no formulas"
        )
    return ending, gzipped


def with_safe_cells(table: pl.LazyFrame) -> pl.LazyFrame:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Names of columns are such text, too. Numbers stay as they are.

    Examples
    --------
    >>> rows = pl.LazyFrame({"user": ["=1+1", "ann"], "score": [-1.0, 2.0]})
    >>> with_safe_cells(rows).collect().rows()
    [("'=1+1", -1.0), ('ann', 2.0)]
    """
    schema = table.collect_schema()
    formula = f"^(?:{_FORMULA.pattern})"
    return table.with_columns(
        pl.when(pl.col(pl.String).str.contains(formula))
        .then("'" + pl.col(pl.String))
        .otherwise(pl.col(pl.String))
        .name.keep()
    ).rename({name: f"'{name}" for name in schema if _FORMULA.match(name)})


def write_table(
    table: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, str] | None = None,
    safe_cells: bool = False,
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
    safe_cells : bool
        Make text that begins like a formula safe for spreadsheets; csv and tsv only.
    """
    target = Path(path)
    ending, gzipped = _check_format(target, safe_cells)
    rows = with_safe_cells(table.lazy()) if safe_cells else table.lazy()
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
    try:
        check_file(final)
        final.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", suffix=f".part{final.suffix}", dir=final.parent)
    except OSError as error:
        raise unwritable(final, error) from None
    os.close(handle)
    temporary = Path(name)
    # mkstemp makes private files; the result should have the permissions any new file has.
    temporary.chmod(0o666 & ~_umask())
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(final)
    except (OSError, pl.exceptions.PolarsError) as error:
        if (told := disk_error(error)) is None:
            raise
        raise unwritable(final, told) from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
