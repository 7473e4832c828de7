"""What is made of a model's arrays for one question and kept for the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Self, TypeVar

Thing = TypeVar("Thing")

#: So many things are kept of a model: a service asks for a few mixes again and again.
_MOST_KEPT = 16


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
        self._things: dict[Hashable, Any] = {}

    def __call__(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """Return what is kept under a key, or make it."""
        try:
            found: Thing = self._things[key]
        except KeyError:
            found = make()
            if len(self._things) >= _MOST_KEPT:
                # A new dictionary, not a smaller one: other threads may be reading the old one.
                self._things = {}
            self._things[key] = found
        return found

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        # A copy of a model makes its things again.
        return type(self), ()
