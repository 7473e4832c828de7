"""How much a model file is about: what the layout of a model's arrays depends on."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from dmrank.support.arrays import Arrays
from dmrank.support.layouts import Shapes, length_of
from dmrank.support.lazy_arrays import LazyArrays


class Sizes(NamedTuple):
    """Numbers of users, items and aspects, and the arrays that a file has.

    Attributes
    ----------
    users, items, aspects : int
        M, N and K of the catalogue.
    shapes : mapping of str to tuple of int
        The shape of each array.
    arrays : mapping of str to array
        The arrays themselves, for the few whose value says how long others are.
    """

    users: int
    items: int
    aspects: int
    shapes: Shapes
    arrays: Arrays

    def length(self, name: str) -> int:
        """Return the length of an array, 0 if there is none."""
        return length_of(self.shapes, name)

    def number(self, name: str) -> int:
        """Return the whole number that an array consists of, 0 if it does not.

        Examples
        --------
        >>> import numpy as np
        >>> sizes = Sizes(2, 3, 1, {"x": (1,), "y": (2,)}, {"x": np.array([7])})
        >>> sizes.number("x"), sizes.number("y")
        (7, 0)
        """
        if self.shapes.get(name) != (1,) or self.arrays[name].dtype != np.int64:
            return 0
        return int(self.arrays[name][0])

    def of_member(self, name: str, items: int) -> Sizes:
        """Return the same for one of the models that a model is made of."""
        prefix = f"{name}."
        shapes = {
            array.removeprefix(prefix): shape
            for array, shape in self.shapes.items()
            if array.startswith(prefix)
        }
        arrays = {array: partial(self.arrays.__getitem__, prefix + array) for array in shapes}
        return Sizes(self.users, items, self.aspects, shapes, LazyArrays({}, arrays))
