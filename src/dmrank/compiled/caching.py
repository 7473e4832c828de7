"""A cache of compiled code that is never stale, and has a place wherever something can be written.

Numba caches a compiled function until its own file changes, and would go on using it after a
change to a function that it calls from another file. What is cached therefore also has a
fingerprint of every file of the package that its own file imports, directly or not.
"""

# mypy: disable-error-code="no-untyped-call"
# Numba's cache carries no annotations.
from __future__ import annotations

import functools
import inspect
import os
import re
import stat
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import FunctionCache

from dmrank.support.progress import say

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = Path(__file__).parent.parent
# `from dmrank.a import b, c`, also over several lines, and `import dmrank.a`.
_FROM = re.compile(r"^\s*from (dmrank[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^\s*import (dmrank[\w.]*)", re.MULTILINE)
_NAME = re.compile(r"\w+")
_REMEDY = "name a folder in NUMBA_CACHE_DIR to keep compiled code"


def cache_of(function: Callable[..., Any]) -> GuardedCache | None:
    """Return where the compiled form of a function is kept; None if nothing can be written.

    Beside the sources, else in Numba's folder of the user, else in a temporary folder of the user.
    """
    try:
        return GuardedCache(function)
    except RuntimeError:  # Numba found no folder that it can write
        folder = _temporary_folder()
    if folder is None:
        return None
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
    try:
        return GuardedCache(function)
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


@functools.cache
def _temporary_folder() -> str | None:
    """Return a temporary folder that only this user can write, and say so, once.

    A cache is code: a folder that somebody else made, or can write, is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"dmrank-compiled-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        own = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    except OSError:
        own = False
    if own:
        say(f"compiled code is kept in {folder}, for no other folder can be written: {_REMEDY}")
        return str(folder)
    say(f"compiled code is not kept, for no folder can be written: {_REMEDY}")
    return None


class GuardedCache(FunctionCache):
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
