"""Arrays as long as the ratings or the users, in the memory of whoever can spare it.

Where workers are there for what is large, this process is not to grow with the data: the system can
let go of the pages of a file, and read them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

from dmrank.support.arrays import Array
from dmrank.support.shared_tables import SharedTable
from dmrank.support.workers import current_workers

#: Bytes of an array that is not worth a file.
_SMALL: Final = 1 << 22
#: Rows that are made at once.
_AT_ONCE: Final = 1 << 16


def large_array(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return an array to be filled: of memory, or of a file that no one else sees.

    Examples
    --------
    >>> large_array((2, 3), np.float32).shape
    (2, 3)
    """
    sizes = (shape,) if isinstance(shape, int) else shape
    workers = current_workers()
    if workers is None or math.prod(sizes) * np.dtype(dtype).itemsize <= _SMALL:
        made: np.ndarray[Any, Any] = np.empty(sizes, dtype=dtype)
        return made
    return SharedTable.reserve(workers.new_folder() / "array", dtype, sizes).keep()


def large_rows(rows: int, dtype: DTypeLike, make: Callable[[slice], Array]) -> Array:
    """Return a large array of what is made of one range of its rows after the other.

    Examples
    --------
    >>> large_rows(3, np.int32, lambda rows: np.arange(rows.start, rows.stop) ** 2)
    array([0, 1, 4], dtype=int32)
    """
    made = large_array(rows, dtype)
    for start in range(0, rows, _AT_ONCE):
        own = slice(start, min(start + _AT_ONCE, rows))
        made[own] = make(own)
    return made
