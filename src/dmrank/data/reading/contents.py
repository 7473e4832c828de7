"""The bytes of a text table, and files that are something else than their name says."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from dmrank.support.errors import DataError

BLOCK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
NOT_UTF8 = "it is not UTF-8 text; convert it first (iconv -f latin1 -t utf-8)"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: How files of other formats begin, what they are, and what to do with them.
_OTHER_FORMATS = {
    _GZIP: ("gzipped", "add .gz to its name"),
    b"PK\x03\x04": ("a zip archive or a spreadsheet", "unpack it, or export it as csv"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "decompress it with zstd -d"),
    b"\xfd7zXZ": ("compressed by xz", "decompress it with xz -d"),
    b"BZh": ("compressed by bzip2", "decompress it with bzip2 -d"),
    b"PAR1": ("a parquet file", "name it .parquet"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", "export it as csv"),
}


def text_blocks(path: Path, gzipped: bool) -> Iterator[bytes]:
    """Yield a text file in blocks, decompressed, after a look at what it really is."""
    first = True
    try:
        _check_compression(path, gzipped)
        with gzip.open(path, "rb") if gzipped else path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                if first:
                    _check_text(path, block)
                first = False
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is damaged ({error}): fetch or compress it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _check_compression(path: Path, gzipped: bool) -> None:
    with path.open("rb") as file:
        start = file.read(8)
    if gzipped:
        if not start.startswith(_GZIP):
            raise DataError(f"{path} is not gzipped, as its name says: take .gz off its name")
        return
    for begin, (what, remedy) in _OTHER_FORMATS.items():
        if start.startswith(begin):
            raise DataError(f"{path} is {what}, not text: {remedy}")


def _check_text(path: Path, block: bytes) -> None:
    if block.startswith(_UTF16_MARKS) or block[:200].count(0) > len(block[:200]) // 4:
        raise DataError(f"{path} is UTF-16 text: convert it first (iconv -f utf-16 -t utf-8)")
    if b"\r" in block and b"\n" not in block:
        raise DataError(
            f"{path}: its lines end in carriage returns alone; turn them into newlines first "
            r"(tr '\r' '\n')"
        )
