"""Positions that are asked for by a slice, a mask or a list of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmrank.support.arrays import Bools, Codes
from dmrank.support.errors import DataError


def positions(which: Any, length: int, things: str) -> Codes:
    """Return the positions that a slice, a mask or a list of positions means, among so many.

    Examples
    --------
    >>> positions(slice(2), 5, "users"), positions([True, False], 2, "users")
    (array([0, 1]), array([0]))
    >>> positions([True], 2, "users")
    Traceback (most recent call last):
        ...
    dmrank.DataError: a mask of 1 for 2 users: give one truth value for each
    """
    if isinstance(which, slice):
        try:
            return np.arange(length)[which]
        except (TypeError, ValueError) as error:
            raise DataError(f"{which!r} is no slice of {things}: {error}") from None
    found = _array(which)
    if found is not None and found.dtype == np.bool_:
        return np.flatnonzero(_mask(found, length, things))
    if found is None or (found.size and found.dtype.kind not in "iu"):
        raise DataError(
            f"{_shown(which)} does not say which {things}: give a slice, a mask of truth values, "
            "or whole numbers"
        )
    found = found.astype(np.int64, copy=False)
    ends = (found.min(), found.max()) if found.size else ()
    for end in ends:
        if not -length <= end < length:
            raise DataError(f"there is no number {end:,} among {length:,} {things}")
    return found


def as_mask(given: Any, length: int, things: str) -> Bools:
    """Return a truth value for each of so many things, or say what is wrong with what was given.

    Examples
    --------
    >>> as_mask([True, False], 2, "rows")
    array([ True, False])
    """
    mask = _array(given)
    if mask is None or mask.dtype != np.bool_:
        raise DataError(f"{_shown(given)} is no mask: give a truth value for each of the {things}")
    return _mask(mask, length, things)


def _array(given: Any) -> Any:
    """Return an array of one dimension, or None for anything else."""
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 1 else None


def _mask(mask: Bools, length: int, things: str) -> Bools:
    if len(mask) != length:
        raise DataError(
            f"a mask of {len(mask):,} for {length:,} {things}: give one truth value for each"
        )
    return mask


def _shown(given: object) -> str:
    return " ".join(repr(given).split())[:60]
