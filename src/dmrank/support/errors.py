"""Typed errors: each message names the thing that is wrong and how to mend it.

Every error is also the built-in error that Python programmers would catch in its place.
"""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Iterable

from dmrank.support.terminal import printable

_MOST_COMPARED = 5_000


class DmrankError(Exception):
    """Base of every error that dmrank raises on purpose."""

    # Tracebacks name errors as they are imported: `dmrank.DataError`.
    __module__ = "dmrank"

    def __init_subclass__(cls) -> None:
        cls.__module__ = "dmrank"

    def __str__(self) -> str:
        # KeyError would show the repr of its argument.
        return str(self.args[0]) if self.args else ""


class DataError(DmrankError, ValueError):
    """A table, file or value that cannot be used as ratings."""


class DownloadError(DataError, OSError):
    """A public corpus that could not be fetched whole."""


class ConfigError(DmrankError, ValueError):
    """A parameter outside its range, or parameters that contradict each other."""


class MissingExtraError(ConfigError, ImportError):
    """Something that needs a package which one of the extras brings."""


class NotFittedError(DmrankError, RuntimeError):
    """A model was asked before it was fitted."""


class UnknownUserError(DmrankError, KeyError):
    """A user id that the ratings do not contain."""


class UnknownItemError(DmrankError, KeyError):
    """An item id that the ratings do not contain."""


class UnknownAspectError(DmrankError, KeyError):
    """An aspect name that the ratings do not contain."""


class UnsupportedError(DmrankError, NotImplementedError):
    """A question that this kind of model cannot answer."""


class WriteError(DmrankError, OSError):
    """A file or folder that cannot be written: no permission, no room."""


class ClusterError(DmrankError, RuntimeError):
    """A cluster that cannot be reached, cannot be used, or was lost."""


class ModelFileError(DmrankError, OSError):
    """A model file that is truncated, foreign, or of a newer version."""


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line of plain characters."""
    return printable((str(error).strip().splitlines() or [type(error).__name__])[0])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Say which known names are nearest, as the end of an error message.

    Examples
    --------
    >>> did_you_mean("servise", ["overall", "service", "value"])
    "did you mean 'service'?"
    >>> did_you_mean("xyz", ["overall", "service"])
    'known: overall, service'
    """
    names = list(known)
    near = difflib.get_close_matches(name, _comparable(name, names), n=3)
    if near:
        return "did you mean " + " or ".join(repr(match) for match in near) + "?"
    shown = ", ".join(name if name.isprintable() else repr(name) for name in names[:8])
    return f"known: {shown}" + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")


def _comparable(name: str, names: list[str]) -> list[str]:
    """Return all names, or of very many those around it in their order: comparing takes time."""
    if len(names) <= _MOST_COMPARED:
        return names
    at = bisect.bisect(names, name)
    return names[max(at - _MOST_COMPARED // 2, 0) : at + _MOST_COMPARED // 2]
