"""Symmetric matrices in one row each: the lower triangle, row by row.

Element (i, j ≤ i) is at i(i + 1)/2 + j, and rows are padded with zeros to whole quads.
"""

from __future__ import annotations

import numpy as np

from dmrank.compiled.compiling import inlined
from dmrank.compiled.transpose import padded
from dmrank.support.arrays import AnyFloats, Float32s


@inlined
def packed(i: int, j: int) -> int:
    """Return where element (i, j ≤ i) of a packed matrix is.

    Examples
    --------
    >>> [packed(i, j) for i, j in [(0, 0), (1, 0), (1, 1), (2, 0)]]
    [0, 1, 2, 3]
    """
    return ((i * (i + 1)) >> 1) + j


def pack(matrix: AnyFloats) -> Float32s:
    """Return the lower triangle, row by row, padded to whole quads.

    Examples
    --------
    >>> pack(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3., 0.], dtype=float32)
    """
    lower = matrix[np.tril_indices(len(matrix))]
    row = np.zeros(padded(len(lower)), dtype=np.float32)
    row[: len(lower)] = lower
    return row


def unpack(rows: Float32s, aspects: int) -> Float32s:
    """Return symmetric matrices (n × K × K) of packed rows.

    Examples
    --------
    >>> unpack(np.float32([[1, 2, 3, 0]]), aspects=2).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    row, column = np.indices((aspects, aspects))
    high, low = np.maximum(row, column), np.minimum(row, column)
    return rows[:, high * (high + 1) // 2 + low]
