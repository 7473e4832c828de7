"""Numba's decorators, typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba import extending

from dmrank.compiled import announcing
from dmrank.compiled.caching import cache_of

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

announcing.start()


def cached(function: Function) -> Function:
    """Compile a function at its first call without Python's lock, and keep it on disk.

    For functions that Python calls; what only they call is `compiled` or `inlined` with them.
    For a type checker the function stays what it is.
    """
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    cache = cache_of(function)
    if cache is not None:
        # What `cache=True` does, with a stricter cache.
        dispatcher._cache = cache
    return cast("Function", dispatcher)


def compiled(function: Function) -> Function:
    """Compile a function at its first call; for a type checker it stays what it is.

    Examples
    --------
    >>> @compiled
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double(1.5)
    3.0
    """
    return cast("Function", numba.njit(error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers."""
    return cast("Function", numba.njit(forceinline=True, error_model="numpy")(function))


def spliced(function: Function) -> Function:
    """Put the source of a function into each of its callers, before they are compiled.

    Numba optimises all that a function calls again with every caller: a level of calls less is
    seconds of compiling less.
    """
    return cast("Function", numba.njit(inline="always", error_model="numpy")(function))


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a new instruction for compiled code (`numba.extending.intrinsic`)."""
    return cast("Callable[..., Any]", extending.intrinsic(function))
