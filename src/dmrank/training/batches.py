"""One batch of training: its memory, and its tasks of drawing, grouping and updating.

A batch is drawn, grouped by user and by item, differentiated and used for an update. Each of
these is cut into tasks that can be done in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.directional.compiling import compiled
from dmrank.training.adagrad import TASKS, RowUpdate, ascended, update_rows
from dmrank.training.covariances import CovarianceGradients, update_roots
from dmrank.training.factors import FactorGradients
from dmrank.training.pairs import PERSONALIZED, choose_hardest
from dmrank.training.sampling import Groups, Pairs, draw_pairs, group, random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dmrank.training.covariances import RootUpdate
    from dmrank.training.data import Accumulators, Parameters, TrainingData
    from dmrank.training.pairs import PairCovariance
    from dmrank.training.settings import FactorSettings, PriorWeights, SamplerSettings

    Float32s = NDArray[np.float32]


@compiled
def pairs_of(pairs: Pairs, batch: int) -> Pairs:
    """Return one of the batches that were drawn ahead."""
    return Pairs(
        pairs.users[batch], pairs.items[batch], pairs.differences[batch], pairs.second_rows[batch]
    )


@compiled
def groups_of(groups: Groups, batch: int) -> Groups:
    """Return the groups of one of the batches that were drawn ahead."""
    return Groups(
        groups.keys[batch],
        groups.heads[batch],
        groups.links[batch],
        groups.sizes[batch],
        groups.totals[batch],
    )


@compiled
def draw_task(
    data: TrainingData,
    parameters: Parameters,
    sampler: SamplerSettings,
    first: int,
    steps: int,
    pairs: Pairs,
    task: int,
) -> None:
    """Draw a part of one of the batches from number ``first`` on."""
    batch, part = task // TASKS, task % TASKS
    stream = random_stream(sampler.seed, (first + batch) // steps, (first + batch) % steps)
    start = sampler.batch_size * part // TASKS
    end = sampler.batch_size * (part + 1) // TASKS
    drawn = pairs_of(pairs, batch)
    draw_pairs(data, sampler.rated_share, stream, drawn, start, end)
    if sampler.hard_negatives > 1:
        choose_hardest(data, parameters, sampler.hard_negatives, stream, drawn, start, end)


@compiled
def group_task(pairs: Pairs, users: Groups, items: Groups, is_shared: bool, task: int) -> None:
    """Group a batch by user or by item; pairs that share one Σ as if they had one user."""
    batch = task // 2
    if task % 2 == 1:
        group(pairs.items[batch].ravel(), groups_of(items, batch))
        return
    keys = pairs.users[batch].copy()
    if is_shared:
        for pair in range(keys.shape[0]):
            keys[pair] = min(keys[pair], 0)
    group(keys, groups_of(users, batch))


@compiled
def update_factors(
    parameters: Parameters,
    squares: Accumulators,
    settings: FactorSettings,
    users: Groups,
    items: Groups,
    gradients: FactorGradients,
    task: int,
) -> None:
    """Update the rows of U, V, the offsets and, in the last task, W."""
    rate, scale, nonnegative = settings.learning_rate, settings.scale, settings.nonnegative
    how = RowUpdate(rate, scale, settings.user_regularization, nonnegative)
    update_rows(parameters.users, squares.users, users, gradients.users, how, task)
    how = RowUpdate(rate, scale, settings.item_regularization, nonnegative)
    update_rows(parameters.items, squares.items, items, gradients.items, how, task)
    if parameters.offsets.shape[0] > 0:
        how = RowUpdate(rate, scale, settings.offset_regularization, False)
        update_rows(parameters.offsets, squares.offsets, items, gradients.offsets, how, task)
    if task == TASKS - 1:  # the task with the fewest rows
        how = RowUpdate(rate, scale, settings.aspect_regularization, nonnegative)
        pairs = users.totals[1]
        _update_aspects(parameters.aspects, squares.aspects, gradients.aspects, how, pairs)


@compiled
def _update_aspects(
    aspects: Float32s, squares: Float32s, gradients: Float32s, how: RowUpdate, pairs: int
) -> None:
    """Update W, which every pair touches, by the sum of what the tasks have summed."""
    decay = np.float32(how.regularization * pairs)
    for k in range(aspects.shape[0]):
        for f in range(aspects.shape[1]):
            gradient = -decay * aspects[k, f]
            for task in range(TASKS):
                gradient += gradients[task, k * aspects.shape[1] + f]
            gradient *= np.float32(how.scale)
            aspects[k, f], squares[k, f] = ascended(
                aspects[k, f], squares[k, f], gradient, how.learning_rate
            )
            if how.nonnegative:
                aspects[k, f] = max(aspects[k, f], np.float32(0.0))


@compiled
def update_covariances(
    parameters: Parameters,
    squares: Accumulators,
    covariance: PairCovariance,
    how: RootUpdate,
    weights: PriorWeights,
    users: Groups,
    items: Groups,
    gradients: CovarianceGradients,
    task: int,
) -> None:
    """Update the rows of L and Σ of users and items."""
    update_roots(
        parameters.user_roots,
        squares.user_roots,
        parameters.user_covariances,
        users,
        gradients.pairs,
        2.0 * covariance.user_weight,
        weights.users,
        how,
        task,
    )
    if covariance.kind == PERSONALIZED:
        update_roots(
            parameters.item_roots,
            squares.item_roots,
            parameters.item_covariances,
            items,
            gradients.pairs,
            1.0 - covariance.user_weight,
            weights.items,
            how,
            task,
        )
