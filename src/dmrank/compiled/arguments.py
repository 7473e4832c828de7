"""Arguments of compiled functions: one kind of array for what they only read.

Numba compiles a function once for arrays that can be written and once more for those that cannot,
such as mapped files and ratings, in every combination of its arguments.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

Element = TypeVar("Element", bound=np.generic)
Arrays = TypeVar("Arrays", bound=NamedTuple)


def read_only(array: np.ndarray[Any, np.dtype[Element]]) -> np.ndarray[Any, np.dtype[Element]]:
    """Return an array, or a view of it, that cannot be written.

    Examples
    --------
    >>> read_only(np.zeros(3)).flags.writeable
    False
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def reading(arrays: Arrays) -> Arrays:
    """Return a named tuple of arrays that cannot be written.

    Examples
    --------
    >>> class Rows(NamedTuple):
    ...     pointer: np.ndarray
    >>> reading(Rows(np.zeros(3))).pointer.flags.writeable
    False
    """
    return arrays._make(map(read_only, arrays))
