"""Numba's decorators, typed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba import extending
from numba.core.registry import CPUDispatcher

from dmrank.compiled import announcing
from dmrank.compiled.caching import cache_of

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

# What is known of its types lacks some of its options.
_njit: Any = numba.njit

announcing.start()


def cached(function: Function) -> Function:
    """Compile a function at its first call without Python's lock, and keep it on disk.

    For functions that Python calls; what only they call is `compiled` or `inlined` with them.
    For a type checker the function stays what it is.
    """
    dispatcher: Any = _njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    cache = cache_of(function)
    if cache is not None:
        # What `cache=True` does, with a stricter cache.
        dispatcher._cache = cache
    return cast("Function", dispatcher)


class _Inner(CPUDispatcher):
    """A function for compiled code: made without an entrance for Python.

    Of each function that others call Numba makes such an entrance, and one for C, which takes apart
    every argument: a twelfth of all compiling. Python, in tests and examples, gets a copy.
    """

    def __call__(self, *arguments: Any) -> Any:
        return _with_entrance(self.py_func)(*arguments)


@functools.cache
def _with_entrance(function: Callable[..., Any]) -> Callable[..., Any]:
    return cast("Callable[..., Any]", _njit(error_model="numpy")(function))


def _inner(function: Function, **options: Any) -> Function:
    dispatcher: Any = _njit(
        error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(function)
    if isinstance(dispatcher, CPUDispatcher):  # with NUMBA_DISABLE_JIT it is the function
        dispatcher.__class__ = _Inner
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
    return _inner(function)


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers."""
    return _inner(function, forceinline=True)


def spliced(function: Function) -> Function:
    """Put the source of a function into each of its callers, before they are compiled.

    Numba optimises all that a function calls again with every caller: a level of calls less is
    seconds of compiling less.
    """
    return _inner(function, inline="always")


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a new instruction for compiled code (`numba.extending.intrinsic`)."""
    return cast("Callable[..., Any]", extending.intrinsic(function))
