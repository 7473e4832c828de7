"""Whether a result can be written to its place: found out before the work, not after it."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path

from dmrank.support.errors import DataError, WriteError

#: What a disk says when it takes no more, in whatever words a library wraps it.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
#: A full disk may have room for an empty file, but not for one block.
_BLOCK = 4_096


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise if a file cannot be written there; its folder need not exist yet.

    Examples
    --------
    >>> check_target(Path(tempfile.mkdtemp()) / "models" / "m.dmrank")
    >>> check_target("/")
    Traceback (most recent call last):
        ...
    dmrank.DataError: / is a directory: name a file to write to
    """
    target = Path(path)
    try:
        check_file(target)
        _probe(target.parent)
    except OSError as error:
        raise unwritable(target, error) from None


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise if files cannot be written into a folder; it need not exist yet."""
    folder = Path(path)
    try:
        if folder.exists() and not folder.is_dir():
            raise DataError(f"{folder} is a file: name a folder to write to")
        _probe(folder)
    except OSError as error:
        raise unwritable(folder, error) from None


def check_file(target: Path) -> None:
    """Raise if there is something that a file cannot take the place of."""
    if target.is_dir():
        raise DataError(f"{target} is a directory: name a file to write to")
    if target.exists() and not target.is_file():
        raise DataError(f"{target} is a device or a pipe: name a file to write to")


def unwritable(target: Path, error: OSError) -> WriteError:
    """Return the error of a file or folder that cannot be written."""
    if isinstance(error, WriteError):
        return error
    return WriteError(f"{target} cannot be written: {error.strerror or error}")


def disk_error(error: Exception) -> OSError | None:
    """Return what the disk said, if that is what an error is about."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (told := re.search(r"\(os error (\d+)\)", str(error))):
        number = int(told[1])
    return OSError(number, os.strerror(number)) if number in _DISK else None


def append_block(path: Path) -> None:
    """Raise what the disk says when a file grows by a block."""
    with path.open("ab") as file:
        file.write(bytes(_BLOCK))


def _probe(folder: Path) -> None:
    """Write a block into a file without a name, where the folder is or will be made."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    with tempfile.TemporaryFile(dir=nearest) as file:
        file.write(bytes(_BLOCK))
