"""Damage to bytes: what disks, transfers and strangers do to files."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable


def _flip_bit(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _flip_bits(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.randint(2, 12)):
        _flip_bit(rng, data)


def _overwrite(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] = rng.choice([0, 1, 34, 127, 128, 255, rng.randrange(256)])


def _truncate(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def _extend(rng: random.Random, data: bytearray) -> None:
    data += rng.randbytes(rng.choice([1, 8, 300])) if rng.random() < 0.7 else bytes(64)


def _cut_out(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randint(1, 40)]


def _repeat(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    data[start:start] = data[start : start + rng.randint(1, 40)]


def _blank(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    stretch = min(rng.choice([4, 32, 512]), len(data) - start)
    data[start : start + stretch] = bytes(stretch)


_DAMAGES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    _flip_bit, _flip_bit, _flip_bits, _overwrite, _truncate, _extend, _cut_out, _repeat, _blank,
)  # fmt: skip


def damaged(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """Return what was done, and the bytes after it."""
    if not data:
        return "left empty", data
    damage = rng.choice(_DAMAGES)
    result = bytearray(data)
    damage(rng, result)
    return damage.__name__.strip("_").replace("_", " "), bytes(result)


def gzipped(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """Return a gzip of the bytes, which is often not quite one."""
    whole = gzip.compress(data, compresslevel=1, mtime=0)
    how = rng.randrange(8)
    if how == 0:
        return "plain bytes called gzip", data
    if how == 1:
        half = len(data) // 2
        return "gzip in two members", gzip.compress(data[:half]) + gzip.compress(data[half:])
    if how == 2:
        return "gzip with bytes after it", whole + rng.randbytes(rng.choice([1, 20]))
    if how == 3:
        return "zlib called gzip", zlib.compress(data)
    if how in (4, 5):
        name, broken = damaged(rng, whole)
        return f"gzip, {name}", broken
    return "gzip", whole


def unpacked(data: bytes) -> bytes:
    """Return what is in a gzip or zlib, by Python's own modules; nothing if it is broken.

    Other bytes are returned as they are.
    """
    if data[:2] == b"\x1f\x8b":
        unpack = gzip.decompress
    elif data[:1] == b"\x78" and int.from_bytes(data[:2], "big") % 31 == 0:
        unpack = zlib.decompress
    else:
        return data
    try:
        return unpack(data)
    except (OSError, EOFError, zlib.error):
        return b""
