"""Work on many rows at once: fixed ranges of them, shared out among threads.

The kernels release the interpreter's lock, so plain threads are enough. Unlike Numba's own
parallel loops they may be entered from several threads at once, on every platform.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dmrank.support.errors import ConfigError

#: The most threads of this process where nobody says how many; None: one for every core.
_most_threads: int | None = None


def limit_threads(most: int) -> None:
    """From now on, use so many threads where one for every core was asked for.

    A worker of a cluster has a share of the cores of its machine.
    """
    global _most_threads  # noqa: PLW0603 (it is of the process)
    _most_threads = most


def count_threads(threads: int | None) -> int:
    """Return how many threads to use; None means one for every core that this process may use.

    Examples
    --------
    >>> count_threads(3)
    3
    """
    if threads is None:
        if _most_threads is not None:
            return _most_threads
        # A container or a batch queue may allow fewer cores than the machine has.
        has_affinity = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if threads < 1:
        raise ConfigError(f"threads={threads!r}: give 1 or more, or leave it out for every core")
    return threads


def for_ranges(
    work: Callable[[int, int], None], total: int, size: int, threads: int | None = None
) -> None:
    """Call ``work(start, stop)`` on ranges of `size` that cover 0 to `total`.

    The ranges do not depend on the number of threads, and neither may what ``work`` writes.

    Examples
    --------
    >>> for_ranges(lambda start, stop: print(start, stop), total=100, size=64, threads=1)
    0 64
    64 100
    """
    starts = range(0, total, size)
    stops = [min(start + size, total) for start in starts]
    workers = min(count_threads(threads), len(starts))
    if workers <= 1:
        for start, stop in zip(starts, stops, strict=True):
            work(start, stop)
        return
    with ThreadPoolExecutor(workers) as pool:
        # Reading the results raises what a task has raised.
        list(pool.map(work, starts, stops))
