"""Where blocks of work run: here, one after the other, or on the workers that somebody has set up.

Who has much to do cuts it into blocks that depend on nothing but their arguments and calls
:func:`run_in_order`. What comes out does not depend on where the blocks have run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import starmap
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

Result = TypeVar("Result")

#: Bytes that a worker needs before it has any data: Python and the libraries that it imports.
LIBRARIES: Final = 300 << 20


class Workers(Protocol):
    """What runs functions elsewhere, such as a cluster."""

    def new_folder(self) -> Path:
        """Make a folder that every worker sees; it is removed when the workers are let go."""

    def check_sees(self, file: Path) -> None:
        """Raise if a worker does not see a file of this machine."""

    def run(
        self, function: Callable[..., Result], calls: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result]:
        """Yield what a function of a module returns for each tuple of arguments, in their order."""

    def share(self, value: Any) -> Any:
        """Return what stands for a value among the arguments of many calls, sent once."""

    def check_memory(self, needed: int, what: str, *, alone: bool = False) -> None:
        """Raise if workers have not so many bytes of memory for something.

        Each of them, or one that has the memory of its machine alone.
        """

    def run_large(
        self, function: Callable[..., Result], arguments: tuple[Any, ...], needed: int
    ) -> Result:
        """Return what a function returns, from a worker that has so many bytes of memory."""


_current: ContextVar[Workers | None] = ContextVar("workers", default=None)


def current_workers() -> Workers | None:
    """Return the workers that calls are to use; None: there are none but this process.

    Examples
    --------
    >>> current_workers() is None
    True
    """
    return _current.get()


@contextmanager
def use_workers(workers: Workers | None) -> Iterator[None]:
    """Let calls within the block use these workers."""
    token = _current.set(workers)
    try:
        yield
    finally:
        _current.reset(token)


def run_in_order(
    function: Callable[..., Result], calls: Iterable[tuple[Any, ...]]
) -> Iterator[Result]:
    """Yield what a function returns for each tuple of arguments, in their order.

    Examples
    --------
    >>> list(run_in_order(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    workers = current_workers()
    return starmap(function, calls) if workers is None else workers.run(function, calls)


def shared(value: Any) -> Any:
    """Return what stands for a value among the arguments of many calls of `run_in_order`.

    Examples
    --------
    >>> list(run_in_order(pow, [(shared(2), 3)]))
    [8]
    """
    workers = current_workers()
    return value if workers is None else workers.share(value)
