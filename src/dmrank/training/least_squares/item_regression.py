"""Every item regressed on all others, with a zero diagonal (Steck, WWW 2019).

For a sparse matrix X of users × items, B minimises ‖X − XB‖² + tr(BᵀΛB) with diag(B) = 0, Λ a
diagonal matrix. With P = (XᵀX + Λ)⁻¹ it is B_ij = −P_ij / P_jj off the diagonal (Eq. 8 there). B is
dense: it is computed in place and in single precision, 4 N² bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.data.rows import group_rows, groups_of_rows
from dmrank.support.arrays import Codes, Float32s, Int64s
from dmrank.support.errors import DataError

_ITEMS_PER_TASK = 64


class SparseRows(NamedTuple):
    """X: row u has ``values[pointer[u]:pointer[u + 1]]`` at the items of the same places."""

    pointer: Int64s
    items: Codes
    values: Float32s


def gram(rows: SparseRows, n_items: int, threads: int | None) -> Float32s:
    """Return XᵀX.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 2]), np.array([0, 1], np.int32), np.float32([2, 3]))
    >>> gram(rows, 2, threads=1)
    array([[4., 6.],
           [6., 9.]], dtype=float32)
    """
    order, pointer = group_rows(rows.items, n_items)
    users = groups_of_rows(rows.pointer)
    columns = SparseRows(pointer, users[order], rows.values[order])
    products = np.zeros((n_items, n_items), dtype=np.float32)
    add_rows(columns, rows, products, threads)
    return products


def add_rows(
    columns: SparseRows, rows: SparseRows, products: Float32s, threads: int | None = None
) -> None:
    """Add up XᵀX, or some rows of it.

    Parameters
    ----------
    columns : SparseRows
        Users and values of these items.
    rows : SparseRows
        Items and values of all users among them.
    products : float32 array
        Where they are added up.
    """
    for_ranges(
        lambda start, stop: _gram_rows(start, stop, columns, rows, products),
        len(products),
        _ITEMS_PER_TASK,
        threads,
    )


@cached
def _gram_rows(
    start: int, stop: int, columns: SparseRows, rows: SparseRows, products: Float32s
) -> None:
    for item in range(start, stop):
        row = products[item]
        for place in range(columns.pointer[item], columns.pointer[item + 1]):
            user, value = columns.items[place], columns.values[place]
            for other in range(rows.pointer[user], rows.pointer[user + 1]):
                row[rows.items[other]] += value * rows.values[other]


def regress(products: Float32s, ridge: Float32s | float, threads: int | None) -> Float32s:
    """Turn XᵀX into B, in its place, given the diagonal of Λ or the one number in it."""
    n_items = len(products)
    products[np.diag_indices(n_items)] += ridge
    weights = _inverse(products)
    diagonal = weights.diagonal().copy()
    for_ranges(
        lambda start, stop: _weigh(start, stop, diagonal, weights),
        n_items,
        _ITEMS_PER_TASK,
        threads,
    )
    return weights


def _inverse(matrix: Float32s) -> Float32s:
    """Return the inverse of a positive definite matrix, in its place; the upper triangle counts."""
    # LAPACK stores columns: the lower triangle of the transpose is our upper one.
    columns, failed = lapack.spotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
    if not failed:
        columns, failed = lapack.spotri(columns, lower=True, overwrite_c=True)
    if failed:
        raise DataError("XᵀX + Λ has no inverse in single precision: raise regularization")
    return columns.T


@cached
def _weigh(start: int, stop: int, diagonal: Float32s, weights: Float32s) -> None:
    """Replace the upper triangle of P by B, for pairs whose first item is among some."""
    for i in range(start, stop):
        weights[i, i] = 0
        for j in range(i + 1, len(weights)):
            p = weights[i, j]
            weights[i, j] = -p / diagonal[j]
            weights[j, i] = -p / diagonal[i]


@cached
def score_users(
    start: int, stop: int, rows: SparseRows, users: Codes, weights: Float32s, scores: Float32s
) -> None:
    """Add up rows of XB for some of the users: the scores of all items."""
    for n in range(start, stop):
        own = scores[n]
        for place in range(rows.pointer[users[n]], rows.pointer[users[n] + 1]):
            row, value = weights[rows.items[place]], rows.values[place]
            for j in range(len(own)):
                own[j] += value * row[j]


@cached
def score_range_of_pairs(
    start: int,
    stop: int,
    rows: SparseRows,
    pairs: tuple[Codes, Codes],
    weights: Float32s,
    scores: Float32s,
) -> None:
    """Score pairs; those of one user in a row read each row of B together."""
    users, items = pairs
    first = start
    while first < stop:
        user, last = users[first], first + 1
        while last < stop and users[last] == user:
            last += 1
        for place in range(rows.pointer[user], rows.pointer[user + 1]):
            row, value = weights[rows.items[place]], rows.values[place]
            for n in range(first, last):
                scores[n] += value * row[items[n]]
        first = last
