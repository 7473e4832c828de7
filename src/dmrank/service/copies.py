"""Private copies of the model file, which nobody else can cut short, and which one is the latest.

One process makes copies, numbered from 1, in a folder that it shares with its workers; these open
the latest that is good, and say which was. A copy of which a later one is good is removed: who has
it open keeps it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dmrank.support.errors import ModelFileError, WriteError
from dmrank.support.files import atomic_path

_SUFFIX = ".dmrank"
_TURN = "turn"


class Stamp(NamedTuple):
    """By what a file is seen to be another one."""

    inode: int
    size: int
    changed: int


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file; None: it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def check_is_file(path: Path) -> None:
    """Raise if there is no file to serve."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ModelFileError(f"{path} {what}: give a model that `dmrank fit` has written")


class Copies:
    """The copies of a model file.

    Parameters
    ----------
    folder : Path
        Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # What the process does that makes copies.

    def add(self, source: Path) -> int:
        """Copy a file, and return the number of the copy."""
        number = max(self.numbers(), default=0) + 1
        before = stamp_of(source)
        if before is None:
            raise ModelFileError(f"{source} does not exist any more: put a model there")
        try:
            # Renamed when it is whole: workers see no part of it.
            with atomic_path(self.file(number)) as part:
                shutil.copyfile(source, part)
                os.utime(part, ns=(before.changed, before.changed))
                if stamp_of(source) != before:
                    raise ModelFileError(f"{source} is being written: opened when it is whole")
        except OSError as error:
            if isinstance(error, ModelFileError | WriteError):
                raise
            raise ModelFileError(f"{source} cannot be copied: {error.strerror}") from None
        return number

    def remove_old(self) -> None:
        """Remove copies of which a later one is good."""
        good = self.good()
        for number in self.numbers():
            if number < good:
                self.file(number).unlink(missing_ok=True)
                self._note(number, "good").unlink(missing_ok=True)

    # What workers do.

    def numbers(self) -> list[int]:
        """Return the numbers of all copies, the latest last."""
        return sorted(int(file.stem) for file in self.folder.glob(f"[0-9]*{_SUFFIX}"))

    def good(self) -> int:
        """Return the number of the latest copy that a worker has opened; 0: none."""
        return max((int(file.stem) for file in self.folder.glob("[0-9]*.good")), default=0)

    def file(self, number: int) -> Path:
        """Return the path of a copy."""
        return self.folder / f"{number}{_SUFFIX}"

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Let one worker at a time open a copy; False: another one is at it.

        To open a model takes a core. On all of them at once nothing would be left for answers.
        """
        lock = os.open(self.folder / _TURN, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except BlockingIOError:
            is_ours = False
        try:
            yield is_ours
        finally:
            os.close(lock)

    def say_good(self, number: int) -> None:
        """Note that a copy could be opened."""
        self._note(number, "good").touch()

    def say_bad(self, number: int, reason: str) -> None:
        """Note why a copy could not be opened."""
        self._note(number, "bad").write_text(reason, encoding="utf-8")

    def reason(self, number: int) -> str | None:
        """Return why a copy could not be opened, if a worker has said so."""
        note = self._note(number, "bad")
        return note.read_text(encoding="utf-8") if note.exists() else None

    def _note(self, number: int, what: str) -> Path:
        return self.folder / f"{number}.{what}"


def fingerprint(path: Path) -> str:
    """Return what tells a model file from others: a digest of its header.

    The header has the checksums of all arrays, so that another content has another header. Files
    of format 1 have none: of these everything is looked at.
    """
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = stream.read(length)
        if b'"crc32"' in header:
            return hashlib.sha256(header).hexdigest()
        stream.seek(0)
        return hashlib.file_digest(stream, "sha256").hexdigest()
