"""Tables in files of their own, of which several processes read and write rows.

What is larger than a process may hold, or than it wants to be sent, lies in a file that all of them
see: raw numbers, row after row. A task that is run again writes the same rows to the same place, so
that it does not matter which of two attempts came last.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from dmrank.support.arrays import Array, Codes
from dmrank.support.targets import unwritable

#: Bytes that are written at once.
_ZEROS: Final = 1 << 20


class SharedTable(NamedTuple):
    """A table by its file: what is sent in the place of its rows.

    Attributes
    ----------
    path : str
        The file, from the root on.
    dtype : str
        Type of its numbers.
    shape : tuple of int
        Rows first.

    Examples
    --------
    >>> import tempfile
    >>> table = SharedTable.create(Path(tempfile.mkdtemp()) / "table", np.float32, (4, 2))
    >>> table.write(1, np.ones((2, 2), np.float32))
    >>> table.take(np.array([3, 1])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

    path: str
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def create(cls, path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> Self:
        """Make the file of a table of zeros; it takes room by what is written."""
        table = cls(str(path.absolute()), np.dtype(dtype).str, tuple(map(int, shape)))
        try:
            with path.open("wb") as file:
                file.truncate(table.nbytes)
        except OSError as error:
            raise unwritable(path, error) from None
        return table

    @classmethod
    def reserve(cls, path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> Self:
        """Make the file of a table of zeros that has its room: no write can find the disk full."""
        table = cls.create(path, dtype, shape)
        try:
            with path.open("r+b") as file:
                _allocate(file, table.nbytes)
        except OSError as error:
            path.unlink()
            raise unwritable(path, error) from None
        return table

    @classmethod
    def holding(cls, path: Path, array: Array) -> Self:
        """Make the file of a table that has these rows."""
        table = cls.create(path, array.dtype, array.shape)
        table.write(0, array)
        return table

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def write(self, start: int, rows: Array) -> None:
        """Write rows from one on."""
        given = np.ascontiguousarray(rows, dtype=self.dtype)
        try:
            with Path(self.path).open("r+b") as file:
                file.seek(start * self.row_bytes)
                file.write(given.reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise unwritable(Path(self.path), error) from None

    def read(self, rows: slice) -> Array:
        """Return a copy of rows that follow each other."""
        return np.array(self.mapped()[rows])

    def take(self, codes: Codes) -> Array:
        """Return a copy of some rows."""
        return np.asarray(self.mapped()[codes])

    def mapped(self) -> Array:
        """Return all rows, read as they are used; they stay there when the file is removed."""
        if 0 in self.shape:
            return np.empty(self.shape, dtype=self.dtype)
        found: np.memmap[Any, Any] = np.memmap(self.path, self.dtype, mode="r", shape=self.shape)
        # A plain array over the same memory: parts of a memmap take many times as long to take.
        return found.view(np.ndarray)

    def keep(self) -> Array:
        """Return all rows, to be written to, and remove the file: they are nobody else's."""
        found: np.memmap[Any, Any] = np.memmap(self.path, self.dtype, mode="r+", shape=self.shape)
        self.remove()
        return found.view(np.ndarray)

    def remove(self) -> None:
        """Remove the file; who has mapped it keeps it."""
        Path(self.path).unlink(missing_ok=True)


def _allocate(file: BinaryIO, size: int) -> None:
    """Have the system set room aside, or write zeros where it cannot."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    file.writelines(bytes(min(_ZEROS, size - start)) for start in range(0, size, _ZEROS))
