"""Symmetric matrices in one row each: the lower triangle, row by row.

Element (i, j ≤ i) is at i(i + 1)/2 + j, and rows are padded with zeros to whole quads.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dmrank.compiled.compiling import inlined
from dmrank.compiled.transpose import padded
from dmrank.support.arrays import AnyFloats, Array, Float32s, Floats, Int64s


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


def unpack(rows: Array, aspects: int) -> Array:
    """Return symmetric matrices (n × K × K) of packed rows.

    Examples
    --------
    >>> unpack(np.float32([[1, 2, 3, 0]]), aspects=2).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    return np.take(rows, _places(aspects), axis=1)


def quadratic_forms(rows: AnyFloats, vectors: AnyFloats) -> Floats:
    """Return wᵀ Σ w of packed matrices and a vector for each, without unpacking them.

    Examples
    --------
    >>> quadratic_forms(np.float32([[1, 2, 3, 0]]), np.array([[10.0, 1.0]])).tolist()
    [143.0]
    """
    row, column, times = _triangle(vectors.shape[1])
    products = vectors[:, row] * vectors[:, column] * times
    return np.asarray(np.einsum("np,np->n", rows[:, : len(row)], products, dtype=np.float64))


@cache
def _triangle(aspects: int) -> tuple[Int64s, Int64s, Floats]:
    """Return row and column of each element of a packed row, and how often the matrix has it."""
    row, column = np.tril_indices(aspects)
    return row, column, np.where(row == column, 1.0, 2.0)


@cache
def _places(aspects: int) -> Int64s:
    """Return where in a packed row each element of the matrix is."""
    row, column = np.indices((aspects, aspects))
    high, low = np.maximum(row, column), np.minimum(row, column)
    return np.asarray(high * (high + 1) // 2 + low)
