"""Numba's decorators, typed, and a key for its cache."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba import extending

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_PACKAGE = Path(__file__).parent.parent
_COMPILED = ("compiled", "directional", "training")


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


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a new instruction for compiled code (`numba.extending.intrinsic`)."""
    return cast("Callable[..., Any]", extending.intrinsic(function))


def source_fingerprint() -> int:
    """Return a number that changes with the sources of `directional` and `training`.

    Numba caches a compiled function until its own file changes, and would go on using it after a
    change to a function that it calls from another file. What is cached has this number in a
    closure, which is part of the key of the cache.

    Examples
    --------
    >>> source_fingerprint() == source_fingerprint()
    True
    """
    fingerprint = 0
    for folder in _COMPILED:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            fingerprint = zlib.crc32(path.read_bytes(), fingerprint)
    return fingerprint
