"""The cache: files with a record of their checksum beside them, so that damage is noticed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import platformdirs

from dmrank.support.errors import DataError
from dmrank.support.files import atomic_path


def default_folder() -> Path:
    """Return the user's cache directory for datasets."""
    return Path(platformdirs.user_cache_dir("dmrank")) / "datasets"


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty"
    >>> path.touch()
    >>> checksum(path)[:12]
    'e3b0c44298fc'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record(path: Path, sha256: str) -> None:
    """Write a checksum beside a file, in the format of `sha256sum`."""
    with atomic_path(_record_of(path)) as temporary:
        temporary.write_text(f"{sha256}  {path.name}\n")


def recorded(path: Path) -> str | None:
    """Return the recorded checksum of a file, or None if there is no record."""
    try:
        return _record_of(path).read_text().split()[0]
    except (FileNotFoundError, IndexError):
        return None


def verify(path: Path, sha256: str | None) -> None:
    """Raise if a file is not the one that the checksum belongs to."""
    if sha256 is not None and checksum(path) != sha256:
        raise DataError(
            f"{path} is damaged (its checksum is not the recorded one): delete it and load again"
        )


def fingerprint(path: Path) -> str:
    """Return what changes whenever a file or directory of the user's does: names, sizes, times."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return short_hash(repr(states))


def short_hash(text: str) -> str:
    """Return twelve hexadecimal digits that identify a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _record_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
