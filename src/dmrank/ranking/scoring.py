"""Scores of items for a user: one dot product, the same to the last bit wherever it is computed.

No fused or reordered arithmetic: a score is the float32 sum over factors in their order. So equal
items tie exactly, and neither the chunk, the thread nor the machine changes an order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import AnyFloats, Float32s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# A chunk of items of ten factors fits the first-level cache.
ITEMS_PER_CHUNK = 512
# Large enough to reuse a chunk of items from the cache, small enough to balance the threads.
USERS_PER_TASK = 64

NOT_FINITE = "a score is NaN or infinite: check the vectors, the model may have diverged"


def checked_vectors(user_vectors: ArrayLike, item_vectors: ArrayLike) -> tuple[Float32s, Float32s]:
    """Return both as float32 matrices whose every score is a finite number.

    Examples
    --------
    >>> users, items = checked_vectors([[1.0, 2.0]], [[0.5, 0.5], [2.0, 0.0]])
    >>> users.dtype, items.shape
    (dtype('float32'), (2, 2))
    """
    items = as_matrix(item_vectors)
    users = checked_users(user_vectors, items.shape[1], largest(items))
    return users, items


def checked_users(user_vectors: ArrayLike, factors: int, largest_of_items: float) -> Float32s:
    """Return user vectors as a float32 matrix whose scores of such items are finite numbers.

    Parameters
    ----------
    user_vectors
        One row per user.
    factors, largest_of_items
        Length of an item's vector, and the largest absolute value in any.

    Examples
    --------
    >>> checked_users([[1.0, 2.0]], factors=3, largest_of_items=1.0)
    Traceback (most recent call last):
    ...
    dmrank.DataError: user vectors of shape (1, 2) and item vectors of 3 columns: give two
    matrices with the same number of columns
    """
    users = np.ascontiguousarray(as_matrix(user_vectors))
    check_widths(users, factors)
    # NaN survives the maximum and fails the comparison.
    bound = largest(users) * largest_of_items * factors
    if not bound <= float(np.finfo(np.float32).max):
        raise DataError(NOT_FINITE)
    return users


def check_widths(users: Float32s, factors: int) -> None:
    """Refuse user vectors that have no dot product with item vectors of this length."""
    if users.shape[1] != factors:
        raise DataError(
            f"user vectors of shape {users.shape} and item vectors of {factors} columns: "
            "give two matrices with the same number of columns"
        )


def as_matrix(vectors: ArrayLike) -> Float32s:
    """Return vectors as a float32 matrix; what is too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2:
        raise DataError(f"vectors of shape {matrix.shape}: give a matrix with one row for each")
    return matrix


def largest(values: Float32s) -> float:
    """Return the largest absolute value, NaN if there is one."""
    return float(max(values.max(), -values.min())) if values.size else 0.0


def checked_scores(score_block: ArrayLike) -> AnyFloats:
    """Return a block of scores, users by items, as a matrix of floats without NaN.

    Examples
    --------
    >>> checked_scores([[1, 2]])
    array([[1., 2.]])
    """
    scores = np.asarray(score_block)
    if scores.dtype not in (np.float32, np.float64):
        scores = scores.astype(np.float64)
    if scores.ndim != 2:
        raise DataError(f"scores of shape {scores.shape}: give a matrix of users by items")
    if np.isnan(scores).any():
        raise DataError("a score is NaN: the model may have diverged")
    return np.ascontiguousarray(scores)


@cached
def dot(user_vector: Any, item_vector: Any) -> Any:
    """Return the score of one item."""
    total = np.float32(0)
    for k in range(len(user_vector)):
        total += user_vector[k] * item_vector[k]
    return total


@cached
def score_chunk(user_vector: Any, item_columns: Any, first: int, scores: Any) -> None:
    """Score the items from ``first`` on, given one row per factor: many `dot` at a time."""
    factors = len(user_vector)
    last = first + len(scores)
    scores[:] = 0
    by_four = factors - factors % 4
    for k in range(0, by_four, 4):
        u0, u1, u2, u3 = user_vector[k], user_vector[k + 1], user_vector[k + 2], user_vector[k + 3]
        v0 = item_columns[k, first:last]
        v1 = item_columns[k + 1, first:last]
        v2 = item_columns[k + 2, first:last]
        v3 = item_columns[k + 3, first:last]
        for j in range(len(scores)):
            scores[j] = scores[j] + u0 * v0[j] + u1 * v1[j] + u2 * v2[j] + u3 * v3[j]
    for k in range(by_four, factors):
        u0 = user_vector[k]
        v0 = item_columns[k, first:last]
        for j in range(len(scores)):
            scores[j] = scores[j] + u0 * v0[j]
