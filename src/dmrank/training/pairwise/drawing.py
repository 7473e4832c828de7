"""Pairs for training steps that are not compiled themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.training.pairwise.sampling import Pairs, draw_pairs, random_stream

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData


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
