"""Arrays by name that are made, or checked, when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from dmrank.support.arrays import Array


class LazyArrays(dict[str, Array]):
    """Arrays by name, each made when it is first asked for.

    Parameters
    ----------
    ready : mapping of str to array
        Those that are there.
    makers : mapping of str to callable
        What makes the others. Two threads may make the same array twice: no harm is done.

    Examples
    --------
    >>> import numpy as np
    >>> arrays = LazyArrays({"b": np.ones(1)}, {"a": lambda: np.arange(2)})
    >>> arrays["a"], sorted(arrays), "a" in arrays
    (array([0, 1]), ['a', 'b'], True)
    """

    def __init__(
        self, ready: Mapping[str, Array], makers: Mapping[str, Callable[[], Array]]
    ) -> None:
        super().__init__(ready)
        self._makers = dict(makers)

    def add_makers(self, makers: Mapping[str, Callable[[], Array]]) -> None:
        """Add what makes further arrays."""
        self._makers |= makers

    def names(self) -> set[str]:
        """Return all names, and make no array."""
        return {*super().keys(), *self._makers}

    def some(self, names: Iterable[str]) -> LazyArrays:
        """Return some of the arrays, each made here when it is asked for there."""
        return LazyArrays({}, {name: partial(self.__getitem__, name) for name in names})

    def __missing__(self, name: str) -> Array:
        self[name] = made = self._makers[name]()
        return made

    def get(self, name: str, default: Any = None) -> Any:
        """Return an array, or something else if there is none of that name."""
        return self[name] if name in self else default  # noqa: SIM401 (this is that method)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._makers

    def __len__(self) -> int:
        return len(self.names())

    def make_all(self) -> None:
        """Make every array now."""
        for name in self._makers:
            self[name]

    def finish(self) -> None:
        """Make every array now, and forget what makes them."""
        self.make_all()
        self._makers = {}

    def __iter__(self) -> Iterator[str]:
        # Whoever looks at all of them sees all of them.
        self.make_all()
        return super().__iter__()

    def keys(self) -> Any:
        """Return all names."""
        self.make_all()
        return super().keys()

    def values(self) -> Any:
        """Return all arrays."""
        self.make_all()
        return super().values()

    def items(self) -> Any:
        """Return all names and arrays."""
        self.make_all()
        return super().items()

    def __reduce__(self) -> tuple[type[dict[str, Array]], tuple[dict[str, Array]]]:
        # What makes the arrays knows files and functions, which no other process has.
        return dict, (dict(self.items()),)


def names_of(arrays: Mapping[str, Array]) -> set[str]:
    """Return the names of arrays, and make none of those that are made when asked for."""
    return arrays.names() if isinstance(arrays, LazyArrays) else set(arrays)
