"""Pairs for training steps that are not compiled themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.support.arrays import Int32s
from dmrank.training.pairwise.sampling import (
    NO_ROW,
    Pairs,
    draw_candidate,
    draw_neighbour,
    draw_pairs,
    find_rows,
    random_stream,
)

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData

# An item of the batch that the user has rated is no negative: another is drawn so many times.
_ATTEMPTS = 16


def sample_pairs(
    data: TrainingData, rated_share: float, seed: int, iteration: int, batch_size: int
) -> Pairs:
    """Draw the pairs of one iteration, those that a compiled step would draw as its first.

    Parameters
    ----------
    data
        The training ratings.
    rated_share
        Share of pairs whose second item is rated, too.
    seed, iteration
        What the pairs depend on.
    batch_size
        How many.

    Examples
    --------
    >>> from dmrank.training.data import training_data
    >>> data = training_data(np.array([0, 1]), np.array([1]), np.float32([[4, 2]]), n_items=2)
    >>> pairs = sample_pairs(data, rated_share=0.0, seed=0, iteration=0, batch_size=1)
    >>> pairs.users, pairs.items.tolist(), pairs.differences.tolist()
    (array([0], dtype=int32), [[1, 0]], [[4.0, 2.0]])
    """
    pairs = Pairs(
        users=np.empty(batch_size, dtype=np.int32),
        items=np.empty((batch_size, 2), dtype=np.int32),
        differences=np.empty((batch_size, data.values.shape[1]), dtype=np.float32),
        second_rows=np.empty(batch_size, dtype=np.int64),
    )
    _draw(data, float(rated_share), seed, iteration, pairs)
    return pairs


@cached
def _draw(data: TrainingData, rated_share: float, seed: int, iteration: int, pairs: Pairs) -> None:
    count = pairs.users.shape[0]
    draw_pairs(data, rated_share, random_stream(seed, iteration, 0), pairs, 0, count)


def sample_candidates(
    data: TrainingData, pairs: Pairs, count: int, from_batch: bool, seed: int, iteration: int
) -> Int32s:
    """Draw items among which an unrated j can be chosen, one row per pair of an iteration.

    Parameters
    ----------
    data, pairs, seed, iteration
        As for `sample_pairs`, and what it returned.
    count
        How many for each pair; a pair of two rated items has its j so many times.
    from_batch
        Whether they are first items of other pairs, which are drawn as often as they are rated.
        Else they are uniform over all items, the first is j itself, and the rest are those that
        hard negatives of a compiled step are chosen from.
    """
    candidates = np.repeat(pairs.items[:, 1:], count, axis=1)
    _draw_candidates(data, pairs, bool(from_batch), seed, iteration, candidates)
    return candidates


@cached
def _draw_candidates(
    data: TrainingData,
    pairs: Pairs,
    from_batch: bool,
    seed: int,
    iteration: int,
    candidates: Int32s,
) -> None:
    stream = random_stream(seed, iteration, 0)
    pair_count, count = candidates.shape
    for pair in range(pair_count):
        user, item = pairs.users[pair], pairs.items[pair, 0]
        if user < 0 or pairs.second_rows[pair] != NO_ROW:
            continue
        if from_batch and pair_count > 1:
            for column in range(count):
                for attempt in range(_ATTEMPTS):
                    number = column * _ATTEMPTS + attempt
                    other = pairs.items[draw_neighbour(stream, pair, number, pair_count), 0]
                    if other >= 0 and _is_unrated(data, user, other):
                        candidates[pair, column] = other
                        break
        elif not from_batch:
            for column in range(1, count):
                other = draw_candidate(data, stream, pair, column - 1, item)
                if _is_unrated(data, user, other):
                    candidates[pair, column] = other


@compiled
def _is_unrated(data: TrainingData, user: int, item: int) -> bool:
    row = np.empty(1, np.int64)
    find_rows(data, np.array([user], np.int32), np.array([item], np.int32), row)
    return row[0] == NO_ROW
