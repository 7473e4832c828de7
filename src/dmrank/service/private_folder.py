"""A folder of a service's own, which goes with it; what a killed one left goes with the next."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "dmrank-serve-"
_LOCK = "lock"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make a folder for as long as the block runs, that nobody else can look into.

    Examples
    --------
    >>> with private_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    _remove_left_over(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_left_over(among: Path) -> None:
    """Remove folders whose service is gone: the system lets go of locks for who was killed."""
    for folder in among.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or gone meanwhile
            lock = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
