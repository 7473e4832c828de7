"""How a public name goes: it warns for two minor versions, and names what takes its place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

Given = ParamSpec("Given")
Returned = TypeVar("Returned")
#: Minor versions for which a deprecated name still works.
KEPT_FOR = 2


class Deprecation(NamedTuple):
    """A name that goes: since when it warns, in which version it is gone, and what to use."""

    name: str
    since: str
    gone: str
    use: str

    def __str__(self) -> str:
        return (
            f"{self.name} is deprecated since dmrank {self.since} and is gone in {self.gone}: "
            f"use {self.use}"
        )

    def is_overdue(self, version: str) -> bool:
        """Return whether a version has come in which the name is to be gone."""
        return release(version) >= release(self.gone)

    def is_patient(self) -> bool:
        """Return whether the name works for long enough: a new major version may end it, too."""
        (since_major, since_minor), (gone_major, gone_minor) = (
            release(self.since)[:2], release(self.gone)[:2],
        )  # fmt: skip
        return gone_major > since_major or gone_minor - since_minor >= KEPT_FOR


#: Every name that was deprecated in a module that has been imported.
DEPRECATED: list[Deprecation] = []


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version.

    Examples
    --------
    >>> release("0.10.1") > release("0.9")
    True
    """
    return tuple(int(part) for part in version.split("."))


def deprecated(
    *, since: str, gone: str, use: str
) -> Callable[[Callable[Given, Returned]], Callable[Given, Returned]]:
    """Let a function or method warn whoever calls it (docs/project/versions.md).

    Parameters
    ----------
    since, gone : str
        The version that deprecates it, and the one in which it is to be removed.
    use : str
        What takes its place.

    Examples
    --------
    >>> @deprecated(since="1.0.0", gone="99.0.0", use="recommend")
    ... def suggest(n):
    ...     return n
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     suggest(3)
    3
    >>> print(caught[0].message)
    suggest is deprecated since dmrank 1.0.0 and is gone in 99.0.0: use recommend
    """

    def mark(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
        told = Deprecation(function.__qualname__, since, gone, use)

        @wraps(function)
        def call(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
            warnings.warn(str(told), DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        DEPRECATED.append(told)
        # Where type checkers and editors look (PEP 702).
        call.__deprecated__ = str(told)  # type: ignore[attr-defined]
        call.__doc__ = f"{function.__doc__ or ''}\n\n    .. deprecated:: {since}\n       Use {use}."
        return call

    return mark
