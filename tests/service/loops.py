"""Coroutines in tests: where a browser of other tests has a loop on the thread already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")


def run_alone(work: Coroutine[Any, Any, Found]) -> Found:
    """Run something on a thread of its own: a browser of other tests has a loop on this one."""
    with ThreadPoolExecutor(1) as own:
        return own.submit(asyncio.run, work).result()
