"""A large result in parts: each written whole where it is made, and a manifest when all are there.

A part depends on its block alone, so that a run that was killed makes those that are missing, and
ends with the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from dmrank.data.reading.tables import UNREADABLE
from dmrank.support.batches import from_batch
from dmrank.support.claims import RUN, claim_folder, parts_folder
from dmrank.support.errors import DataError
from dmrank.support.files import atomic_path, write_table
from dmrank.support.progress import bar, say
from dmrank.support.streams import write_frames
from dmrank.support.workers import current_workers, run_in_order

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST: Final = "manifest.json"
_PART: Final = "part-{:08d}.parquet"


class Part(NamedTuple):
    """What the manifest says of a part."""

    file: str
    rows: int
    sha256: str


class PartSettings(NamedTuple):
    """Where a result goes, and into how large parts it is cut.

    Attributes
    ----------
    target : Path
        A folder for the parts, or a file that they are joined into.
    is_joined : bool
        Whether it is a file.
    users_per_part : int
        Users of one part.
    safe_cells : bool
        Of a file, see :func:`dmrank.support.files.write_table`.
    """

    target: Path
    is_joined: bool
    users_per_part: int
    safe_cells: bool = False

    @property
    def folder(self) -> Path:
        """Where the parts are made."""
        return parts_folder(self.target) if self.is_joined else self.target


class Parts:
    """The parts of one result.

    Parameters
    ----------
    settings : PartSettings
        Where they go.
    run : mapping of str to JSON value
        What identifies the run. Parts of another run are refused.
    """

    def __init__(self, settings: PartSettings, run: Mapping[str, Any]) -> None:
        self.settings = settings
        self.folder = settings.folder.absolute()
        claim_folder(self.folder, {**run, "users_per_part": settings.users_per_part})

    def make(
        self,
        function: Callable[..., pa.RecordBatch],
        blocks: Iterable[tuple[Any, ...]],
        title: str,
        total: int,
    ) -> int:
        """Make the parts that are missing and the manifest, or the file; return the rows.

        Parameters
        ----------
        function : callable
            Returns a part; it runs on workers if there are any.
        blocks : iterable of tuples
            Its arguments for each part, in their order.
        title : str
            What the progress bar says.
        total : int
            How many blocks there are.
        """
        workers = current_workers()
        if workers is not None:
            workers.check_sees(self.folder / RUN)
        found = {number: part for number in range(total) if (part := self._read(number))}
        if found:
            say(f"going on after {len(found):,} of {total:,} parts, from {self.folder}")
        with bar(title, total=total) as progress:
            missing = (number for number in range(total) if number not in found)
            calls = (
                (function, self._path(number), arguments)
                for number, arguments in enumerate(blocks)
                if number not in found
            )
            for number, part in zip(missing, run_in_order(_write, calls), strict=True):
                found[number] = part
                progress.update(len(found))
        self._finish([found[number] for number in range(total)])
        return sum(part.rows for part in found.values())

    def _finish(self, parts: list[Part]) -> None:
        listed = {"parts": [part._asdict() for part in parts]}
        with atomic_path(self.folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
        if self.settings.is_joined:
            frames = (_read_table(self.folder / part.file) for part in parts)
            schema = pl.read_parquet_schema(self.folder / parts[0].file)
            target, safe_cells = self.settings.target, self.settings.safe_cells
            write_frames(frames, schema, target, safe_cells=safe_cells)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / _PART.format(number)

    def _read(self, number: int) -> Part | None:
        """Return a part that is there already."""
        path = self._path(number)
        return _part(path, len(_read_table(path))) if path.exists() else None


def _write(function: Callable[..., pa.RecordBatch], path: Path, arguments: tuple[Any, ...]) -> Part:
    """Make a part and write it: of the rows, no more than their number goes back to who asked."""
    rows = from_batch(function(*arguments))
    write_table(rows, path)
    return _part(path, len(rows))


def _part(path: Path, rows: int) -> Part:
    return Part(path.name, rows, hashlib.sha256(path.read_bytes()).hexdigest())


def _read_table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path, glob=False)
    except UNREADABLE:
        raise DataError(
            f"{path} is damaged: delete the file, and the same command makes it again"
        ) from None
