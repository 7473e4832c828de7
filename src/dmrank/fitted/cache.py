"""What is made of a model's arrays for one question and kept for the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, Self, TypeVar

Thing = TypeVar("Thing")

#: So many things are kept of a model: a service asks for a few mixes again and again.
_MOST_KEPT = 16


class _Kept:
    """A thing, and when it was last asked for."""

    __slots__ = ("last_use", "thing")

    def __init__(self, thing: Any) -> None:
        self.thing, self.last_use = thing, 0


class Cache:
    """A few things that were made from the arrays of a model, kept for the next question.

    A model that is given other arrays needs another cache.

    Examples
    --------
    >>> cache = Cache()
    >>> cache("answer", lambda: 42), cache("answer", lambda: 43)
    (42, 42)
    """

    def __init__(self) -> None:
        self._things: dict[Hashable, _Kept] = {}
        self._uses = count()

    def __call__(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """Return what is kept under a key, or make it."""
        kept = self._things.get(key)
        if kept is None:
            kept = _Kept(make())
            if len(self._things) >= _MOST_KEPT:
                self._things = self._latest()
            self._things[key] = kept
        kept.last_use = next(self._uses)
        thing: Thing = kept.thing
        return thing

    def _latest(self) -> dict[Hashable, _Kept]:
        """Return the half that was used last; a new dictionary, for threads read the old one."""
        by_use = sorted(self._things.items(), key=lambda item: item[1].last_use)
        return dict(by_use[-_MOST_KEPT // 2 :])

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        # A copy of a model makes its things again.
        return type(self), ()
