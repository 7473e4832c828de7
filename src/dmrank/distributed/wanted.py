"""How a worker learns that nobody waits for it: a file that is there as long as somebody does.

Ray can cancel tasks itself, but a task that ends just as it is cancelled ends the driver with it
(ray#54798 mends one of two such races).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final
from uuid import uuid4

from dmrank.support.errors import ClusterError
from dmrank.support.targets import unwritable

#: How often a worker looks, in seconds.
_PATIENCE: Final = 1.0


@contextmanager
def wanted_file(folder: Path) -> Iterator[Path]:
    """Have a file for as long as results are waited for: removed also when the wait is broken off.

    Examples
    --------
    >>> import tempfile
    >>> with wanted_file(Path(tempfile.mkdtemp())) as file:
    ...     file.exists()
    True
    >>> file.exists()
    False
    """
    file = folder / f"wanted-{uuid4().hex}"
    try:
        file.touch()
    except OSError as error:
        raise unwritable(file, error) from None
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


@contextmanager
def while_wanted(file: Path) -> Iterator[None]:
    """Do something in a worker only while it is waited for; the process ends when it is not.

    Ray then begins the task again, which is the end of it.
    """
    if not file.exists():
        raise ClusterError(f"a worker does not see {file}: is its folder shared by all nodes?")
    done = Event()
    watch = Thread(target=_end_when_unwanted, args=(file, done), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()


def _end_when_unwanted(file: Path, done: Event) -> None:
    while not done.wait(_PATIENCE):
        if not file.exists():
            os._exit(1)
