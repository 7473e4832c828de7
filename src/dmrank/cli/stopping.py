"""Ctrl-C and SIGTERM: one line that says what is left, and the exit code that a shell expects."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(BaseException):
    """A command that a signal has ended.

    Parameters
    ----------
    left : str
        What of its work is where.
    """

    #: The signal; a process gets one at a time.
    by: signal.Signals = signal.SIGINT

    def __init__(self, left: str) -> None:
        super().__init__(f"{_WORDS[self.by]}: {left}")

    @property
    def exit_code(self) -> int:
        """What a shell says of a process that the signal has ended."""
        return 128 + self.by


def listen() -> None:
    """From now on, SIGTERM ends work as Ctrl-C does: fits keep what is best so far."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    Stopped.by = signal.SIGTERM
    raise KeyboardInterrupt


@contextmanager
def stopping(left: str) -> Iterator[None]:
    """Say what is left if the block is stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(left) from None


class StoppableGroup(TyperGroup):
    """Commands of which all that do not say otherwise leave nothing when they are stopped."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with stopping("nothing was written"):
                return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has seen enough, as `head` has: typer would call it a failure.
            raise typer.Exit from None
