"""Work that takes milliseconds or more, on threads, with an end to what may wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dmrank.service.problems import BUSY, ProblemError

Answer = TypeVar("Answer")

#: One thread works while another waits for the interpreter's lock.
_THREADS = 2
_MOST_WAITING = 64


class Pool:
    """Threads, and a bounded queue before them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "pool")
        self._waiting = 0

    async def run(self, work: Callable[..., Answer], *given: Any) -> Answer:
        """Do some work on one of the threads."""
        if self._waiting >= _MOST_WAITING:
            raise ProblemError(BUSY, "too much is to be done at once: try again later", 1)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, work, *given)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Finish what runs."""
        self._threads.shutdown()
