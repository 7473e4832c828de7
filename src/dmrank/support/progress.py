"""Progress bars with the time left, and short messages: on standard error, for people.

Bars are drawn on a terminal and in a notebook; elsewhere nothing is, so that piped output stays
plain.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Protocol

from dmrank.support import notebook
from dmrank.support.terminal import printable

logger = logging.getLogger("dmrank")
_shown: ContextVar[bool] = ContextVar("a bar is shown", default=False)
_quiet: ContextVar[bool] = ContextVar("nothing is said", default=False)


class Bar(Protocol):
    """What a caller can do with a bar."""

    def update(self, completed: float, note: str = "") -> None:
        """Move the bar to `completed` and show `note` beside it."""


class _NoBar:
    def update(self, completed: float, note: str = "") -> None:
        pass


@contextmanager
def bar(title: str, total: float | None, *, bytes_: bool = False) -> Iterator[Bar]:
    """Show a progress bar while the block runs.

    Parameters
    ----------
    title : str
        What is going on, in a few words.
    total : float or None
        The value at which the work is done; None if it is not known.
    bytes_ : bool
        Whether the amounts are bytes (a download) rather than steps.

    Examples
    --------
    >>> with bar("counting", total=3) as progress:
    ...     for step in range(3):
    ...         progress.update(step + 1)
    """
    # One bar is shown: that of the work within which other work is done.
    shown = None if _shown.get() or is_silent() else notebook.display()
    if shown is not None:
        with _as_shown(), closing(notebook.NotebookBar(shown, title, total)) as in_notebook:
            yield in_notebook
        return
    if not sys.stderr.isatty() or _shown.get() or is_silent():
        yield _NoBar()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    amount: ProgressColumn = DownloadColumn() if bytes_ else MofNCompleteColumn()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        amount,
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(title), total=total, note="")

        class _RichBar:
            def update(self, completed: float, note: str = "") -> None:
                progress.update(task, completed=completed, note=printable(note))

        with _as_shown():
            yield _RichBar()


@contextmanager
def _as_shown() -> Iterator[None]:
    before = _shown.get()
    _shown.set(True)
    try:
        yield
    finally:
        # Not by a token: work that is drawn by Polars may end in another thread than it began in.
        _shown.set(before)


def is_silent() -> bool:
    """Return whether the logger `dmrank` was told to be silent.

    Examples
    --------
    >>> logger.setLevel(logging.WARNING)
    >>> is_silent()
    True
    >>> logger.setLevel(logging.NOTSET)
    """
    return _quiet.get() or logger.disabled or logger.level > logging.INFO


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing while the block runs."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def say(message: str) -> None:
    """Tell the person at the terminal, and the log, one line, unless the log is silenced."""
    logger.info(message)
    if not is_silent():
        print(printable(message), file=sys.stderr)
