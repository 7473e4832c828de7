"""What the arrays of a file must be: stated once, and checked before anything reads them.

A file may come from anywhere, and compiled code trusts its arrays: it checks no bound. So each
reader states a *layout*, a `Kept` for every array by name, and hands out only what keeps to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np

from dmrank.support.arrays import Array, Arrays, Bools, Codes, Int64s
from dmrank.support.errors import ModelFileError
from dmrank.support.lazy_arrays import LazyArrays, names_of

#: Rows that are compared at once: what is made on the way stays small.
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Kept:
    """What an array of a file must be.

    Attributes
    ----------
    dtype : type
        Of its elements.
    shape : tuple of int or None
        Its shape; None where any length will do.
    low, high : float
        The least and the greatest value; without them every finite one will do.
    missing : bool
        Whether NaN may stand for what is not known.
    finite : bool
        Whether values are looked at; False: any will do.
    optional : bool
        Whether a file may be without it.
    pointer : str
        The name of the array that says where its rows start, within which its values ascend.
    rule, says : callable, str
        What else must be true of it, and how an error says it.
    """

    dtype: type[np.generic]
    shape: tuple[int | None, ...]
    low: float = -np.inf
    high: float = np.inf
    missing: bool = False
    finite: bool = True
    optional: bool = False
    pointer: str = ""
    rule: Callable[[Array], bool] | None = None
    says: str = ""

    def maybe(self) -> Self:
        """Return the same of an array that a file may be without."""
        return replace(self, optional=True)

    def within(self, prefix: str) -> Self:
        """Return the same of an array whose name, and those of others, have a prefix."""
        return replace(self, pointer=prefix + self.pointer) if self.pointer else self

    def fault(self, array: Array, others: Arrays) -> str:
        """Say what is wrong with an array, to be read after its name; nothing if it is this."""
        if array.dtype != self.dtype:
            return f"has the type {array.dtype}, not {np.dtype(self.dtype)}"
        if not _fits(array.shape, self.shape):
            wanted = " × ".join("any" if n is None else f"{n}" for n in self.shape)
            return f"has the shape {' × '.join(map(str, array.shape))}, not {wanted}"
        fault = self._fault_of_values(array) if self.finite and array.size else ""
        if not fault and self.pointer and not ascends_in_rows(array, others[self.pointer]):
            return "does not ascend within its rows"
        if not fault and self.rule is not None and not self.rule(array):
            return self.says
        return fault

    def _fault_of_values(self, array: Array) -> str:
        # A NaN is the least and the greatest of all, unless it may be there.
        least = (np.fmin if self.missing else np.minimum).reduce(array, axis=None)
        most = (np.fmax if self.missing else np.maximum).reduce(array, axis=None)
        if self.missing and np.isnan(least) and np.isnan(most):
            return ""
        if not (np.isfinite(least) and np.isfinite(most)):
            return "has values that are NaN or infinite"
        for value in (least, most):
            if not self.low <= value <= self.high:
                return f"has the value {value:g}, outside of {self._range()}"
        return ""

    def _range(self) -> str:
        return f"{self.low:g} to {self.high:g}"


#: What each array of a file must be, by name; None: anything.
Layout: TypeAlias = Mapping[str, Kept | None]
#: The shapes of the arrays of a file, by name: many are as long as others, and some are missing.
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def length_of(shapes: Shapes, name: str) -> int:
    """Return the length of an array, 0 if there is none.

    Examples
    --------
    >>> length_of({"x": (5, 2)}, "x"), length_of({}, "x")
    (5, 0)
    """
    return next(iter(shapes.get(name, ())), 0)


def floats(*shape: int | None, dtype: type[np.generic] = np.float32, **more: Any) -> Kept:
    """Return what finite numbers are."""
    return Kept(dtype, shape, **more)


def counts(*shape: int | None) -> Kept:
    """Return what int32 numbers from 0 on are."""
    return Kept(np.int32, shape, low=0)


def codes(length: int | None, below: int, pointer: str = "") -> Kept:
    """Return what codes are: from 0 to below a number, maybe in the rows of a pointer."""
    return Kept(np.int32, (length,), low=0, high=below - 1, pointer=pointer)


def pointer(rows: int, end: int) -> Kept:
    """Return what a pointer to rows is: it ascends from 0 to where the last one ends."""
    return Kept(
        np.int64, (rows + 1,), rule=partial(_points, end), says=f"does not ascend from 0 to {end:,}"
    )


def spans(rows: int, end: int) -> Kept:
    """Return where rows start and end, each for itself."""
    return Kept(
        np.int64,
        (rows, 2),
        low=0,
        high=end,
        rule=lambda array: bool((array[:, 0] <= array[:, 1]).all()),
        says="has rows that end before they start",
    )


def definite(size: int) -> Kept:
    """Return what a positive definite matrix is."""
    return Kept(
        np.float32,
        (size, size),
        rule=_is_definite,
        says="is not positive definite",
    )


def _is_definite(array: Array) -> bool:
    values = np.linalg.eigvalsh(array.astype(np.float64))
    return bool(np.allclose(array, array.T, rtol=1e-3) and (values > 0).all())


def checked_arrays(arrays: Arrays, layout: Layout, path: str | os.PathLike[str]) -> LazyArrays:
    """Return arrays that are checked when they are first asked for; names are checked at once.

    Parameters
    ----------
    arrays : mapping of str to array
        What a file has.
    layout : mapping of str to Kept
        What it should have.
    path : path
        The file, for errors.

    Examples
    --------
    >>> layout = {"x": floats(2), "y": floats(None).maybe()}
    >>> checked_arrays({"x": np.float32([1, 2])}, layout, "a.file")["x"]
    array([1., 2.], dtype=float32)
    >>> checked_arrays({"x": np.float32([1, np.nan])}, layout, "a.file")["x"]
    Traceback (most recent call last):
        ...
    dmrank.ModelFileError: a.file is damaged: its array 'x' has values that are NaN or infinite
    """
    names = names_of(arrays)
    lacks = {name for name, kept in layout.items() if kept and not kept.optional} - names
    if lacks:
        raise ModelFileError(f"{path} is damaged: it lacks the array {min(lacks)!r}")
    foreign = names - layout.keys()
    if foreign:
        raise ModelFileError(f"{path} is damaged: its array {min(foreign)!r} belongs to nothing")
    checked = LazyArrays({}, {})

    def check(name: str) -> Array:
        array, kept = arrays[name], layout[name]
        fault = kept.fault(array, checked) if kept else ""
        if fault:
            raise ModelFileError(f"{path} is damaged: its array {name!r} {fault}")
        return array

    checked.add_makers({name: partial(check, name) for name in names})
    return checked


def ascends_in_rows(items: Codes, pointer: Int64s) -> bool:
    """Return whether items ascend from one to the next, but for where a row starts.

    Examples
    --------
    >>> items = np.array([1, 4, 0, 2])
    >>> ascends_in_rows(items, np.array([0, 2, 4])), ascends_in_rows(items, np.array([0, 4]))
    (True, False)
    """
    starts = pointer[(pointer > 0) & (pointer < len(items))]
    return all(
        _ascends(items[first : first + _AT_ONCE + 1], starts - first)
        for first in range(0, len(items) - 1, _AT_ONCE)
    )


def _ascends(items: Codes, starts: Int64s) -> bool:
    ascends: Bools = items[1:] > items[:-1]
    low, high = np.searchsorted(starts, [1, len(items)])
    ascends[starts[low:high] - 1] = True
    return bool(ascends.all())


def _points(end: int, array: Int64s) -> bool:
    return array[0] == 0 and array[-1] == end and bool((array[1:] >= array[:-1]).all())


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        want in (None, size) for size, want in zip(shape, wanted, strict=True)
    )
