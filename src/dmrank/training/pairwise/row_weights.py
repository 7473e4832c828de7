"""Training rows that count more or less than others: drawn more or less often.

Of all pairs with an unrated j, those of a row (u, i) are to count w_ui (Saito, Unbiased Pairwise
Learning from Biased Implicit Feedback, ICTIR 2020, with w = 1/θ and θ_ui how likely u was to meet
i). A row that is drawn w times as often counts just that, on average, and the weights are
normalised by themselves; gradients of a few rows with large weights would be noisier. Draws are
made by Walker's aliases: each row has a chance to be kept when it comes up, and another to take its
place.
"""

from __future__ import annotations

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Floats, Int64s
from dmrank.training.data import TrainingData


def inverse_weights(propensities: Floats, largest_weight: float) -> Floats:
    """Return 1/θ of each row, at most so many times that of the median row.

    Examples
    --------
    >>> inverse_weights(np.array([0.5, 0.25, 0.001]), largest_weight=10)
    array([ 2.,  4., 40.])
    """
    weights = 1 / propensities
    clipped: Floats = np.minimum(weights, largest_weight * np.median(weights))
    return clipped


def with_row_weights(data: TrainingData, weights: Floats) -> TrainingData:
    """Return training data whose rows are drawn in proportion to weights above 0.

    Examples
    --------
    >>> from dmrank.training.data import training_data
    >>> data = training_data(np.array([0, 2]), np.array([0, 1]), np.ones((2, 1)), n_items=3)
    >>> data = with_row_weights(data, np.array([3.0, 1.0]))
    >>> data.row_chances, data.row_aliases, expected_draws(data)
    (array([1. , 0.5], dtype=float32), array([0, 0]), array([1.5, 0.5]))
    """
    rows = len(weights)
    chances = weights / weights.mean()
    aliases = np.arange(rows)
    _pair_up(chances, aliases, np.empty(rows, np.int64))
    return data._replace(row_chances=chances.astype(np.float32), row_aliases=aliases)


def expected_draws(data: TrainingData) -> Floats:
    """Return how often each row is drawn in a pass over the data."""
    if len(data.row_chances) == 0:
        return np.ones(len(data.items))
    chances = data.row_chances.astype(np.float64)
    return chances + np.bincount(data.row_aliases, 1 - chances, minlength=len(chances))


@cached
def _pair_up(chances: Floats, aliases: Int64s, waiting: Int64s) -> None:
    """Give each row with a weight below 1 another to take its place (Vose, IEEE TSE 1991).

    ``chances`` are weights with a mean of 1, and end as chances. Rows below 1 wait at the front of
    ``waiting``, those above at its back.
    """
    rows = chances.shape[0]
    below, above = 0, rows
    for row in range(rows):
        if chances[row] < 1.0:
            waiting[below] = row
            below += 1
        else:
            above -= 1
            waiting[above] = row
    while below > 0 and above < rows:
        below -= 1
        poor, rich = waiting[below], waiting[above]
        aliases[poor] = rich
        chances[rich] -= 1.0 - chances[poor]
        if chances[rich] < 1.0:
            above += 1
            waiting[below] = rich
            below += 1
    # What is left differs from 1 by rounding alone.
    for place in range(below):
        chances[waiting[place]] = 1.0
    for place in range(above, rows):
        chances[waiting[place]] = 1.0
