"""Numba's decorators, typed, and a cache of compiled code that is never stale.

Numba caches a compiled function until its own file changes, and would go on using it after a
change to a function that it calls from another file. What is cached therefore also has a
fingerprint of every file of the package that its own file imports, directly or not.
"""

# mypy: disable-error-code="no-untyped-call"
# Numba's cache carries no annotations.
from __future__ import annotations

import functools
import inspect
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba import extending
from numba.core.caching import FunctionCache

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_PACKAGE = Path(__file__).parent.parent
# `from dmrank.a import b, c`, also over several lines, and `import dmrank.a`.
_FROM = re.compile(r"^\s*from (dmrank[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^\s*import (dmrank[\w.]*)", re.MULTILINE)
_NAME = re.compile(r"\w+")


def cached(function: Function) -> Function:
    """Compile a function at its first call without Python's lock, and keep it on disk.

    For functions that Python calls; what only they call is `compiled` or `inlined` with them.
    For a type checker the function stays what it is.
    """
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    # What `cache=True` does, with a stricter cache.
    dispatcher._cache = _GuardedCache(function)
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


class _GuardedCache(FunctionCache):
    """Numba's cache of a function, with the files that it imports in its version.

    The version is what Numba reads first: it looks no further into a file of another one, which may
    name types that are gone. It is taken when the function is defined: it is that of the sources
    that are running, also if they are edited before the first call.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        sources = fingerprint(inspect.getfile(function))
        self._cache_file._version = f"{self._cache_file._version} {sources}"


@functools.cache
def fingerprint(file: str) -> int:
    """Return a number that changes with a file and with every file of the package it imports.

    Examples
    --------
    >>> fingerprint(__file__) == fingerprint(__file__)
    True
    """
    reached, waiting = set(), [file]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting.extend(_checksum_and_imports(path)[1])
    total = 0
    for path in sorted(reached):
        total = zlib.crc32(_checksum_and_imports(path)[0].to_bytes(4, "big"), total)
    return total


@functools.cache
def _checksum_and_imports(file: str) -> tuple[int, list[str]]:
    """Return the checksum of a file, and the files of the package that it imports itself.

    An import that only a type checker sees counts as well: a fingerprint may change too often,
    never too seldom.
    """
    source = Path(file).read_bytes()
    text = source.decode()
    modules = set(_IMPORT.findall(text))
    for module, names in _FROM.findall(text):
        # A name may be a module itself.
        modules |= {module, *(f"{module}.{name}" for name in _NAME.findall(names))}
    files = _files()
    return zlib.crc32(source), [files[module] for module in modules if module in files]


@functools.cache
def _files() -> dict[str, str]:
    """Return the file of each module of the package."""
    modules = {}
    for path in _PACKAGE.rglob("*.py"):
        parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = str(path)
    return modules
