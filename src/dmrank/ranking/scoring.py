"""Scores of items for a user: one dot product, the same to the last bit wherever it is computed.

No fused or reordered arithmetic: a score is the float32 sum over factors in their order. So equal
items tie exactly, and neither the chunk, the thread nor the machine changes an order.
"""

from __future__ import annotations

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Float32s

# A chunk of items of ten factors fits the first-level cache.
ITEMS_PER_CHUNK = 512
# Large enough to reuse a chunk of items from the cache, small enough to balance the threads.
USERS_PER_TASK = 64
# Scores of all items that are held for a block of users: 16 MB.
_MOST_SCORES = 1 << 22


def users_at_once(n_items: int) -> int:
    """Return how many users are scored together, where all items are scored for each.

    Examples
    --------
    >>> users_at_once(1_000), users_at_once(365_000)
    (256, 11)
    """
    return max(min(256, _MOST_SCORES // max(n_items, 1)), 1)


@compiled
def dot(user_vector: Float32s, item_vector: Float32s) -> np.float32:
    """Return the score of one item."""
    total = np.float32(0)
    for k in range(len(user_vector)):
        total += user_vector[k] * item_vector[k]
    return total


@compiled
def score_chunk(
    user_vector: Float32s, item_columns: Float32s, first: int, scores: Float32s
) -> None:
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


def score_rows(
    user_vectors: Float32s, item_columns: Float32s, threads: int | None = None
) -> Float32s:
    """Return the scores of all items (one column each, a row per factor) for some users.

    Examples
    --------
    >>> score_rows(np.float32([[1, 2]]), np.float32([[1, 0, 3], [0, 1, 1]]))
    array([[1., 2., 5.]], dtype=float32)
    """
    users = np.ascontiguousarray(user_vectors, dtype=np.float32)
    scores = np.empty((len(users), item_columns.shape[1]), dtype=np.float32)
    for_ranges(
        lambda start, stop: _score_rows(start, stop, users, item_columns, scores),
        len(users),
        USERS_PER_TASK,
        threads,
    )
    return scores


def mixed(columns: Float32s, weights: Float32s) -> Float32s:
    """Return the sum of columns (n × K) by weights, K or n × K, each row as it would be by itself.

    Added up column by column, as `score_rows` does it.

    Examples
    --------
    >>> mixed(np.float32([[1, 2], [3, 4]]), np.float32([10, 1]))
    array([12., 34.], dtype=float32)
    """
    total = np.zeros(len(columns), dtype=np.float32)
    for column in range(columns.shape[1]):
        total += columns[:, column] * weights[..., column]
    return total


@cached
def _score_rows(
    start: int, stop: int, users: Float32s, item_columns: Float32s, scores: Float32s
) -> None:
    for first in range(0, scores.shape[1], ITEMS_PER_CHUNK):
        last = min(first + ITEMS_PER_CHUNK, scores.shape[1])
        for user in range(start, stop):
            score_chunk(users[user], item_columns, first, scores[user, first:last])
