"""Hard negatives: of several unrated items the one that the model likes best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.support.arrays import Float32s
from dmrank.training.pairwise.sampling import NO_ROW, draw_candidate, find_rows

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.pairwise.parameters import Parameters
    from dmrank.training.pairwise.sampling import Pairs


@compiled
def choose_hardest(
    data: TrainingData,
    parameters: Parameters,
    candidates: int,
    stream: np.uint64,
    pairs: Pairs,
    start: int,
    end: int,
) -> None:
    """Replace each unrated j by the one of ``candidates`` items with the highest predicted mean.

    The mean is that over all aspects; d stays as it is, for an unrated item counts as rated 0.
    """
    weights = np.zeros(parameters.aspects.shape[1], np.float32)
    for k in range(parameters.aspects.shape[0]):
        for f in range(weights.shape[0]):
            weights[f] += parameters.aspects[k, f]
    drawn = np.empty(candidates - 1, np.int32)
    users = np.empty(candidates - 1, np.int32)
    rows = np.empty(candidates - 1, np.int64)
    for pair in range(start, end):
        user, item = pairs.users[pair], pairs.items[pair, 0]
        if user < 0 or pairs.second_rows[pair] != NO_ROW:
            continue
        for number in range(candidates - 1):
            users[number] = user
            drawn[number] = draw_candidate(data, stream, pair, number, item)
        find_rows(data, users, drawn, rows)
        highest = _predicted_total(parameters, weights, user, pairs.items[pair, 1])
        for number in range(candidates - 1):
            total = _predicted_total(parameters, weights, user, drawn[number])
            if rows[number] == NO_ROW and total > highest:
                highest = total
                pairs.items[pair, 1] = drawn[number]


@compiled
def _predicted_total(parameters: Parameters, weights: Float32s, user: int, item: int) -> float:
    total = 0.0
    for f in range(weights.shape[0]):
        total += weights[f] * parameters.users[user, f] * parameters.items[item, f]
    if parameters.offsets.shape[0] > 0:
        for k in range(parameters.offsets.shape[1]):
            total += parameters.offsets[item, k]
    return total
