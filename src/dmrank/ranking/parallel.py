"""Work on many users at once: fixed ranges of users, shared out among threads.

The kernels release the interpreter's lock, so plain threads are enough. Unlike Numba's own
parallel loops they may be entered from several threads at once, on every platform.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from dmrank.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

# Large enough to reuse a chunk of items from the cache, small enough to balance the threads.
USERS_PER_TASK = 64


def for_user_ranges(
    work: Callable[[int, int], None], n_users: int, threads: int | None = None
) -> None:
    """Call ``work(start, stop)`` on ranges that cover all users.

    The ranges do not depend on the number of threads, and neither may what ``work`` writes.

    Parameters
    ----------
    work
        Takes the first user of a range and the one after its last.
    n_users
        Number of users.
    threads
        Number of threads; by default one per core that the process may use.

    Examples
    --------
    >>> for_user_ranges(lambda start, stop: print(start, stop), 100, threads=1)
    0 64
    64 100
    """
    if threads is not None and threads < 1:
        raise ConfigError(f"threads={threads!r}: give at least 1, or None for one per core")
    starts = range(0, n_users, USERS_PER_TASK)
    stops = [min(start + USERS_PER_TASK, n_users) for start in starts]
    workers = min(threads or _cores(), len(starts))
    if workers <= 1:
        for start, stop in zip(starts, stops, strict=True):
            work(start, stop)
        return
    with ThreadPoolExecutor(workers) as pool:
        # Reading the results raises what a task has raised.
        list(pool.map(work, starts, stops))


def _cores() -> int:
    # A container or a batch queue may allow fewer cores than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
