"""Raw files as publishers pack them: plain, compressed, in (nested) archives, or a directory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, Any

from dmrank.datasets.corpus import Raw
from dmrank.support.errors import DataError
from dmrank.support.progress import bar

_DECOMPRESSORS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream, mode="rb"),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_ZIP_MAGIC = b"PK\x03\x04"
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
_READ_AHEAD = 1 << 20

#: What reading a damaged or truncated archive raises.
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)

Member = tuple[str, IO[bytes]]


def members(raw: Raw, endings: tuple[str, ...]) -> Iterator[Member]:
    """Stream the plain files in a raw file, whatever they are packed in.

    Parameters
    ----------
    raw : Raw
        A plain file is taken as it is; an archive or a directory may hold other files as well.
    endings : tuple of str
        How the names of the wanted files in an archive or directory end.

    Yields
    ------
    name, stream
        The name within the archive or directory, "" for a plain file. The stream is to be read
        before the next one is asked for.
    """
    files = _files(raw.path)
    total = sum(file.stat().st_size for file in files)
    show = bar(f"reading {raw.path.name}", total, bytes_=True) if raw.verbose else nullcontext()
    found, done = False, 0
    with show as progress:
        for file in files:
            report = None if progress is None else progress.update
            with io.BufferedReader(_WatchedFile(file, done, report), _READ_AHEAD) as stream:
                for name, plain, packed in _unpack(file.name, stream, raw.path.is_dir()):
                    if not packed or _is_wanted(name, endings):
                        found = True
                        yield name if packed else "", plain
            done += file.stat().st_size
    if not found:
        raise DataError(f"{raw.path} holds no file named *{' or *'.join(endings)}: check the path")


@contextmanager
def undamaged(raw: Raw) -> Iterator[None]:
    """Turn what reading a damaged file raises into one clear line."""
    try:
        yield
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{raw.path} cannot be read: {error.strerror}") from None
        raise DataError(
            f"{raw.path} is damaged or cut off ({error}): delete it and fetch it again"
        ) from None


class _WatchedFile(io.FileIO):
    """A file that reports how far it has been read."""

    def __init__(self, path: Path, start: int, report: Callable[[float], None] | None) -> None:
        super().__init__(path)
        self._start, self._report = start, report

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        if self._report is not None:
            self._report(self._start + self.tell())
        return count


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: fetch it again")
    return [path]


def _is_wanted(name: str, endings: tuple[str, ...]) -> bool:
    base = PurePosixPath(name).name
    return base.lower().endswith(endings) and not base.startswith(".")


def _unpack(name: str, stream: Any, packed: bool) -> Iterator[tuple[str, IO[bytes], bool]]:
    head = stream.peek(512)
    for magic, decompress in _DECOMPRESSORS.items():
        if head.startswith(magic):
            yield from _unpack(str(PurePosixPath(name).with_suffix("")), decompress(stream), packed)
            return
    if head.startswith(_ZIP_MAGIC):
        with zipfile.ZipFile(stream) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    with archive.open(entry) as member:
                        yield from _unpack(entry.filename, member, True)
    elif head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for header in tar:
                if (content := tar.extractfile(header)) is not None:
                    yield from _unpack(header.name, content, True)
    else:
        yield name, stream, packed
