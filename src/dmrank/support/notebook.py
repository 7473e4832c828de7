"""A progress bar in a notebook, drawn by the notebook itself."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

#: Seconds between two looks of the bar: each is a message to the browser.
_BETWEEN = 0.2


def display() -> Any:
    """Return IPython's module of display if this runs in a notebook, else None."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display as shown  # it is there: we run in it

    return shown


class NotebookBar:
    """A bar with the time left, shown below a cell until it is closed."""

    def __init__(self, shown: Any, title: str, total: float | None) -> None:
        self._shown = shown
        self._title = title
        self._total = total
        self._started = self._last = time.monotonic()
        self._handle = shown.display(shown.HTML(self._html(0, "")), display_id=True)

    def update(self, completed: float, note: str = "") -> None:
        """Move the bar to `completed` and show `note` beside it."""
        now = time.monotonic()
        if now - self._last >= _BETWEEN:
            self._last = now
            self._handle.update(self._shown.HTML(self._html(completed, note)))

    def close(self) -> None:
        """Take the bar away."""
        self._handle.update(self._shown.HTML(""))

    def _html(self, completed: float, note: str) -> str:
        words = [escape(self._title)]
        if self._total:
            words.append(f'<progress value="{completed:g}" max="{self._total:g}"></progress>')
            words.append(f"{completed:,.0f}/{self._total:,.0f}")
        if self._total and completed > 0:
            left = (time.monotonic() - self._started) * (self._total / completed - 1)
            words.append(f"{left // 60:.0f}:{left % 60:02.0f} left")
        return " ".join([*words, escape(note)])
