"""Processes by their parents, from /proc."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


def children_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def descendants_of(process: int) -> list[int]:
    children = children_of(process)
    return [*children, *(each for child in children for each in descendants_of(child))]


def title_of(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    return ""


def all_end(processes: list[int], seconds: float = 20) -> bool:
    """Wait until processes have ended; False if some have not."""
    left = time.monotonic() + seconds
    while any(title_of(process) for process in processes):
        if time.monotonic() > left:
            return False
        time.sleep(0.1)
    return True
