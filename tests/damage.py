"""Damaging files of dmrank: by accident, and as somebody would who computes checksums anew."""

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dmrank import DmrankError
from dmrank.support.arrays import Array
from dmrank.support.containers import read_container, write_container


def flipped(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield a file again and again, each time with another bit of another byte flipped."""
    rng = np.random.default_rng(seed)
    for place in rng.choice(len(content), min(count, len(content)), replace=False):
        changed = bytearray(content)
        changed[place] ^= 1 << rng.integers(8)
        yield bytes(changed)


def forged(
    source: Path,
    target: Path,
    change: Callable[[dict[str, Array], dict[str, Any]], object],
) -> Path:
    """Write a changed copy of a file whose checksums are right."""
    container = read_container(source, mapped=False)
    arrays = {name: array.copy() for name, array in container.arrays.items()}
    metadata = json.loads(json.dumps(container.metadata))
    change(arrays, metadata)
    content: Any = container.content
    return write_container(target, arrays, metadata, content=content)


def with_flipped_values(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield a file with one bit of an array flipped, and its checksums computed anew."""
    rng = np.random.default_rng(seed)
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    texts = header.pop("__metadata__")
    for place in rng.integers(start, len(content), count):
        changed = bytearray(content)
        changed[place] ^= 1 << rng.integers(8)
        about = json.loads(texts["dmrank"])
        for name, entry in header.items():
            begin, end = (start + offset for offset in entry["data_offsets"])
            if begin <= place < end:
                about["checksums"][name] = zlib.crc32(changed[begin:end])
        yield _with_header(changed, start, json.dumps(about), texts["dmrank"])


def _with_header(changed: bytearray, start: int, about: str, before: str) -> bytes:
    header = bytes(changed[8:start]).replace(
        json.dumps(before).encode(), json.dumps(about).encode()
    )
    header = header.rstrip() + b" " * (-len(header.rstrip()) % 8)
    digits = len(b'{"__metadata__":{"crc32":"')
    checksum = f"{zlib.crc32(header[digits + 8 :]):08x}".encode()
    header = header[:digits] + checksum + header[digits + 8 :]
    return len(header).to_bytes(8, "little") + header + bytes(changed[start:])


def answer_or_reason(ask: Callable[[], Any]) -> Any:
    """Return an answer, or the one line of an error; anything else is a failure of the test."""
    try:
        return ask()
    except DmrankError as error:
        reason = str(error)
    assert "\n" not in reason
    return reason
