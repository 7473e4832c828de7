"""How often a key asks, counted over all workers: the generic cell rate algorithm."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
import zlib
from pathlib import Path

_SLOTS = 4_096
_SLOT = struct.Struct("d")
#: Seconds' worth of requests that may come at once.
_BURST = 1.0


class Rates:
    """When each key may ask again, in memory that all workers share.

    A slot holds the time at which a key that asked at exactly its rate would ask next; a request
    moves it by 1/rate, and is refused if it is farther ahead than a burst.

    Parameters
    ----------
    path : Path
        A file that all workers open.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._file, _SLOTS * _SLOT.size)
        self._times = mmap.mmap(self._file, _SLOTS * _SLOT.size)

    def wait(self, name: str, rate: float) -> float:
        """Count a request of a key; return 0, or how many seconds too early it is."""
        place = zlib.crc32(name.encode()) % _SLOTS * _SLOT.size
        now = time.monotonic()
        fcntl.lockf(self._file, fcntl.LOCK_EX, _SLOT.size, place)
        try:
            due = max(_SLOT.unpack_from(self._times, place)[0], now)
            early = due - now - _BURST
            if early > 0:
                return early
            _SLOT.pack_into(self._times, place, due + 1 / rate)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, _SLOT.size, place)
        return 0.0
