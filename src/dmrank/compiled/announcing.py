"""What is said while code is compiled: the first use of a model takes seconds, once."""

# mypy: disable-error-code="no-untyped-call"
# Numba's events carry no annotations.
from __future__ import annotations

import time
from typing import Any

from numba.core import event

from dmrank.support.progress import say

#: Seconds of compiling before anything is said, and between two lines.
_PATIENCE, _BETWEEN = 1.0, 5.0


class Announcer(event.Listener):
    """Says that code is being compiled, and now and then how far that is.

    Attributes
    ----------
    functions : int
        How many were compiled for calls from Python, each with what it calls.
    seconds : float
        How long that took.
    """

    def __init__(self) -> None:
        self.functions = 0
        self.seconds = 0.0
        self._depth = 0
        self._started = 0.0
        self._next = _PATIENCE

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Note when a function begins to be compiled; those that it calls are within."""
        if self._depth == 0:
            self._started = time.perf_counter()
            if self.seconds >= self._next:
                self._say()
        self._depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Count a function that is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self.functions += 1
            self.seconds += time.perf_counter() - self._started

    def _say(self) -> None:
        if self._next == _PATIENCE:
            say("compiling, once for this and later runs (`dmrank warm-up` does it ahead)")
        else:
            say(f"compiling: {self.functions} functions, {self.seconds:.0f} s so far")
        self._next = self.seconds + _BETWEEN


announcer = Announcer()


def start() -> None:
    """Listen to Numba, once."""
    event.register("numba:compile", announcer)
