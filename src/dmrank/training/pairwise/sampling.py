"""Random pairs (u, i, j) for training.

Every random number is a hash of (seed, iteration, step, pair, draw): which pairs an iteration
sees depends on nothing else, neither on the number of threads nor on what was drawn before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled, inlined
from dmrank.compiled.transpose import prefetch
from dmrank.support.arrays import Float32s, Int32s, Int64s

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData


# A pair that differs in no aspect says nothing: it is drawn again so many times, then skipped.
_ATTEMPTS = 16
_DRAWS_PER_ATTEMPT = 3
# Draws of one pair are numbered below 2¹⁶; those of candidates follow those of `draw_pairs`.
_BITS_PER_PAIR = np.uint64(16)
_FIRST_CANDIDATE = _ATTEMPTS * _DRAWS_PER_ATTEMPT

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)

NO_ROW = -1


class Pairs(NamedTuple):
    """One batch of pairs.

    Attributes
    ----------
    users
        Codes of u; −1 for a skipped pair.
    items
        Codes of i and j, one row per pair; −1 for a skipped pair.
    differences
        d = r_ui − r_uj, NaN for an aspect that one of them misses; 0 for a skipped pair.
    second_rows
        Row of (u, j) in the training data, −1 if u has not rated j.
    """

    users: Int32s
    items: Int32s
    differences: Float32s
    second_rows: Int64s


@inlined
def _hash(x: np.uint64) -> np.uint64:
    """Return the output function of the SplitMix64 generator: a good mixture of 64 bits."""
    x = (x ^ (x >> np.uint64(30))) * _MIX1
    x = (x ^ (x >> np.uint64(27))) * _MIX2
    return x ^ (x >> np.uint64(31))


@inlined
def random_stream(seed: int, iteration: int, step: int) -> np.uint64:
    """Return the key of the random numbers of one step of one iteration."""
    return _hash(_hash(_hash(np.uint64(seed) + _GOLDEN) + np.uint64(iteration)) + np.uint64(step))


@inlined
def uniform(stream: np.uint64, pair: int, draw: int) -> float:
    """Return a number in [0, 1), a multiple of 2⁻⁵²."""
    counter = (np.uint64(pair) << _BITS_PER_PAIR) + np.uint64(draw)
    return np.int64(_hash(stream + counter * _GOLDEN) >> np.uint64(12)) * 2.0**-52


@inlined
def uniform_below(stream: np.uint64, pair: int, draw: int, end: int) -> int:
    """Return a whole number in [0, end), for end up to 2³¹ uniform to one part in 2²¹."""
    return int(uniform(stream, pair, draw) * end)


@compiled
def find_rows(data: TrainingData, users: Int32s, items: Int32s, rows: Int64s) -> None:
    """Set the row of each (user, item), −1 if there is none.

    All binary searches advance together, without a branch that depends on the data.
    """
    n = users.shape[0]
    lengths = np.empty(n, np.int64)
    longest = 0
    for m in range(n):
        rows[m] = data.user_ptr[users[m]]
        lengths[m] = data.user_ptr[users[m] + 1] - rows[m]
        longest = max(longest, lengths[m])
    while longest > 1:
        for m in range(n):
            half = lengths[m] >> 1
            rows[m] += half * (data.items[rows[m] + half - (half > 0)] < items[m])
            lengths[m] -= half
        longest -= longest >> 1
    for m in range(n):
        found = lengths[m] > 0 and data.items[rows[m]] == items[m]
        rows[m] = rows[m] if found else NO_ROW


@inlined
def _draw_other_item(stream: np.uint64, pair: int, draw: int, item: int, n_items: int) -> int:
    other = uniform_below(stream, pair, draw, n_items - 1)
    return other + (other >= item)


@inlined
def _draw_row(data: TrainingData, stream: np.uint64, pair: int, draw: int, is_rated: bool) -> int:
    """Return the row of (u, i): of a pair with an unrated j, as often as the row counts."""
    place = uniform(stream, pair, draw) * data.items.shape[0]
    row = int(place)
    if not is_rated and data.row_chances.shape[0] > 0 and place - row >= data.row_chances[row]:
        row = data.row_aliases[row]
    return row


@inlined
def _draw_codes(
    data: TrainingData,
    rated_share: float,
    stream: np.uint64,
    pair: int,
    attempt: int,
    pairs: Pairs,
) -> int:
    """Draw u, i and j of a pair and return the row of (u, i); j is i if u has rated no other."""
    draw = attempt * _DRAWS_PER_ATTEMPT
    is_rated = uniform(stream, pair, draw + 1) < rated_share
    row = _draw_row(data, stream, pair, draw, is_rated)
    user = data.row_users[row]
    item = data.items[row]
    if is_rated:
        begin = data.user_ptr[user]
        others = data.user_ptr[user + 1] - begin - 1
        other_row = begin + uniform_below(stream, pair, draw + 2, others)
        other_row += (other_row >= row) * (others > 0)
        other = int(data.items[other_row])
    else:
        other = _draw_other_item(stream, pair, draw + 2, item, data.item_counts.shape[0])
    pairs.users[pair] = user
    pairs.items[pair, 0] = item
    pairs.items[pair, 1] = other
    return row


@compiled
def _set_difference(data: TrainingData, row: int, pair: int, pairs: Pairs) -> bool:
    """Set d and return whether it has a direction: a kept aspect that differs."""
    other_row = pairs.second_rows[pair]
    has_direction = False
    for k in range(data.values.shape[1]):
        difference = data.values[row, k]
        if other_row != NO_ROW:
            difference -= data.values[other_row, k]
        pairs.differences[pair, k] = difference
        # NaN is neither above nor below 0.
        has_direction |= (difference > 0.0) | (difference < 0.0)
    return has_direction


@compiled
def _prefetch_rows(data: TrainingData, stream: np.uint64, start: int, end: int) -> None:
    """Ask for the rows of the first attempts, so that memory is waited for once, not per pair."""
    K = data.values.shape[1]
    for pair in range(start, end):
        row = _draw_row(data, stream, pair, 0, False)
        prefetch(data.row_users, row)
        prefetch(data.items, row)
        prefetch(data.values, row * K)
        prefetch(data.values, row * K + K - 1)


@compiled
def draw_pairs(
    data: TrainingData, rated_share: float, stream: np.uint64, pairs: Pairs, start: int, end: int
) -> None:
    """Draw the pairs ``start`` to ``end`` of a batch.

    With probability ``rated_share`` j is uniform over the other items that u has rated, and (u, i)
    over the rows; else j is uniform over all items but i, and a row is drawn as often as it counts.
    """
    _prefetch_rows(data, stream, start, end)
    rows = np.empty(end - start, np.int64)
    for pair in range(start, end):
        rows[pair - start] = _draw_codes(data, rated_share, stream, pair, 0, pairs)
    _find_second_rows(data, pairs, start, end)
    for pair in range(start, end):
        has_direction = _set_difference(data, rows[pair - start], pair, pairs)
        attempt = 1
        while not has_direction and attempt < _ATTEMPTS:
            row = _draw_codes(data, rated_share, stream, pair, attempt, pairs)
            _find_second_rows(data, pairs, pair, pair + 1)
            has_direction = _set_difference(data, row, pair, pairs)
            attempt += 1
        if not has_direction:
            _skip(pair, pairs)


@compiled
def _find_second_rows(data: TrainingData, pairs: Pairs, start: int, end: int) -> None:
    second = np.empty(end - start, np.int32)
    for pair in range(start, end):
        second[pair - start] = pairs.items[pair, 1]
    find_rows(data, pairs.users[start:end], second, pairs.second_rows[start:end])


@compiled
def _skip(pair: int, pairs: Pairs) -> None:
    pairs.users[pair] = -1
    pairs.items[pair, 0] = -1
    pairs.items[pair, 1] = -1
    for k in range(pairs.differences.shape[1]):
        pairs.differences[pair, k] = 0.0


@inlined
def draw_candidate(data: TrainingData, stream: np.uint64, pair: int, number: int, item: int) -> int:
    """Return an item that could replace an unrated j: uniform over all but i."""
    n_items = data.item_counts.shape[0]
    return _draw_other_item(stream, pair, _FIRST_CANDIDATE + number, item, n_items)


@inlined
def draw_neighbour(stream: np.uint64, pair: int, number: int, count: int) -> int:
    """Return another pair out of ``count``, whose first item could replace an unrated j."""
    other = uniform_below(stream, pair, _FIRST_CANDIDATE + number, count - 1)
    return other + (other >= pair)
