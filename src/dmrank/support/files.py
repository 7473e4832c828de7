"""Files: the table formats, and writing so that a killed run never leaves half a file."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import polars as pl

from dmrank.support.errors import ConfigError, DataError
from dmrank.support.targets import append_block, check_file, check_target, disk_error, unwritable

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

    If the block raises or the process dies, `target` is as it was before. What a killed process
    has left of the same target is removed.

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
        _remove_left_over(final)
    except OSError as error:
        raise unwritable(final, error) from None
    try:
        with _locked_part(final) as temporary:
            try:
                yield temporary
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())
                temporary.replace(final)
            except pl.exceptions.PolarsError:
                # Polars does not always say that it was the disk: that says so itself.
                append_block(temporary)
                raise
            finally:
                temporary.unlink(missing_ok=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        if (told := disk_error(error)) is None:
            raise
        raise unwritable(final, told) from None


def read_json(path: Path, remedy: str) -> Any:
    """Return what a JSON file of ours holds; if it is damaged, say so and what to do.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "half.json"
    >>> _ = path.write_text('{"a": ')
    >>> read_json(path, "delete it")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dmrank.DataError: ...half.json is damaged, it is not JSON: delete it
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{path} is damaged, it is not JSON: {remedy}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


@contextmanager
def _locked_part(final: Path) -> Iterator[Path]:
    """Make a temporary file that is locked as long as this process lives and writes it."""
    before, after = _part_name(final)
    while True:
        part = final.with_name(f"{before}{secrets.token_hex(4)}{after}")
        # Not private, as those of `tempfile` are: the result has the permissions of the umask.
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        locked = _lock(handle, wait=True)
        if part.exists():
            break
        os.close(handle)  # another process took it for left over, a moment after it was made
    try:
        if not locked:
            os.close(handle)
        yield part
    finally:
        if locked:
            os.close(handle)


def _remove_left_over(final: Path) -> None:
    """Remove parts of a target that nobody is writing: those of a killed process."""
    before, after = _part_name(final)
    with os.scandir(final.parent) as entries:
        left = [e.path for e in entries if e.name.startswith(before) and e.name.endswith(after)]
    for path in left:
        with suppress(OSError):  # another process was quicker, or the file is not ours to remove
            handle = os.open(path, os.O_RDONLY)
            try:
                if _lock(handle, wait=False):
                    Path(path).unlink()
            finally:
                os.close(handle)


def _part_name(final: Path) -> tuple[str, str]:
    """Return how the names of a target's parts begin and end."""
    # Cut, because a name may be as long as names can be.
    return f".{final.name[:40]}.", f".part{final.suffix[:10]}"


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file until it is closed or the process dies; False if that cannot be."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process has it, or the file system knows no locks
        return False
    return True
