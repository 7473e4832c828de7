"""Values in files, for processes that share a folder: arrays go there and back without a copy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple, Self

from dmrank.support.targets import unwritable


class Pickle(NamedTuple):
    """A value as bytes, and the memory of its arrays beside them."""

    head: bytes
    buffers: list[pickle.PickleBuffer]

    @classmethod
    def of(cls, value: Any) -> Self:
        """Pickle a value; its arrays stay where they are."""
        buffers: list[pickle.PickleBuffer] = []
        return cls(pickle.dumps(value, protocol=5, buffer_callback=buffers.append), buffers)

    @property
    def nbytes(self) -> int:
        """Bytes of all that there is."""
        return len(self.head) + sum(buffer.raw().nbytes for buffer in self.buffers)

    def write(self, path: Path) -> PickledFile:
        """Write it into a file."""
        sizes = [buffer.raw().nbytes for buffer in self.buffers]
        try:
            with path.open("wb") as file:
                pickle.dump((self.head, sizes), file, protocol=5)
                for buffer in self.buffers:
                    file.write(buffer.raw())
        except OSError as error:
            raise unwritable(path, error) from None
        return PickledFile(path)


class PickledFile(NamedTuple):
    """A value by its file: what is sent in its place.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> target = Path(tempfile.mkdtemp()) / "value"
    >>> Pickle.of({"a": np.arange(3)}).write(target).read()
    {'a': array([0, 1, 2])}
    """

    path: Path

    def read(self) -> Any:
        """Return the value; its arrays are nobody else's."""
        with self.path.open("rb") as file:
            head, sizes = pickle.load(file)
            buffers = [bytearray(size) for size in sizes]
            for buffer in buffers:
                file.readinto(buffer)
        return pickle.loads(head, buffers=buffers)
