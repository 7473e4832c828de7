"""One batch of training: its memory, and its phases of drawing, grouping and updating.

A batch is drawn, grouped by user and by item, differentiated and used for an update. Each of
these is a phase of a team of threads (see `threads`), cut into tasks that can be done in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES
from dmrank.compiled.tasks import Counters, begin_task, finish_and_begin_task, wait_for_tasks
from dmrank.compiled.transpose import padded
from dmrank.support.arrays import Float32s, Floats, Int32s
from dmrank.training.pairwise.adagrad import TASKS, RowUpdate, ascended, update_rows
from dmrank.training.pairwise.covariances import CovarianceGradients, update_roots
from dmrank.training.pairwise.factors import FactorGradients
from dmrank.training.pairwise.pairs import PERSONALIZED, choose_hardest
from dmrank.training.pairwise.sampling import (
    NO_ROW,
    Groups,
    Pairs,
    draw_pairs,
    group,
    random_stream,
)

if TYPE_CHECKING:
    from dmrank.training.data import Accumulators, Parameters, TrainingData
    from dmrank.training.pairwise.covariances import RootUpdate
    from dmrank.training.pairwise.pairs import PairCovariance
    from dmrank.training.pairwise.settings import FactorSettings, PriorWeights, SamplerSettings


# Batches are drawn ahead until they hold so many samples: drawing needs no parameters, and threads
# wait for each other less often.
_SAMPLES_AHEAD = 32_768
_MOST_BATCHES_AHEAD = 16


def in_whole_blocks(batch_size: int) -> int:
    """Return the size of a batch in memory; what is beyond the batch counts as skipped.

    Examples
    --------
    >>> in_whole_blocks(2000), in_whole_blocks(1)
    (2000, 16)
    """
    return -(-batch_size // LANES) * LANES


def batches_ahead(batch_size: int) -> int:
    """Return how many batches are drawn at once.

    Examples
    --------
    >>> batches_ahead(100), batches_ahead(2000), batches_ahead(100_000)
    (16, 16, 1)
    """
    return min(max(_SAMPLES_AHEAD // in_whole_blocks(batch_size), 1), _MOST_BATCHES_AHEAD)


def empty_pairs(batches: int, batch_size: int, aspects: int) -> Pairs:
    """Return memory for batches of pairs, all of them skipped."""
    size = in_whole_blocks(batch_size)
    return Pairs(
        np.full((batches, size), -1, dtype=np.int32),
        np.full((batches, size, 2), -1, dtype=np.int32),
        np.zeros((batches, size, padded(aspects)), dtype=np.float32),
        np.full((batches, size), NO_ROW, dtype=np.int64),
    )


def empty_groups(batches: int, entries: int) -> Groups:
    """Return memory for the groups of batches with so many entries."""
    shapes = [(batches, entries)] * 4 + [(batches, 2)]
    return Groups(*(np.empty(shape, dtype=np.int32) for shape in shapes))


def empty_factor_gradients(parameters: Parameters, batch_size: int) -> FactorGradients:
    """Return memory for the gradients of one batch."""
    K, width = parameters.aspects.shape
    size = in_whole_blocks(batch_size)
    return FactorGradients(
        users=np.zeros((size, width), dtype=np.float32),
        items=np.zeros((size, width), dtype=np.float32),
        offsets=np.zeros((size if len(parameters.offsets) else 0, padded(K)), dtype=np.float32),
        aspects=np.zeros((TASKS, K * width), dtype=np.float32),
        objective=np.zeros(TASKS),
    )


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
def draw_batches(
    data: TrainingData,
    sampler: SamplerSettings,
    first: int,
    steps: int,
    batches: int,
    pairs: Pairs,
    counters: Counters,
    phase: int,
) -> int:
    """Draw batches from number ``first`` on, in one phase, and return the next phase.

    An iteration consists of ``steps`` batches.
    """
    tasks = batches * TASKS
    task = begin_task(counters, phase)
    while task < tasks:
        batch, part = task // TASKS, task % TASKS
        stream = random_stream(sampler.seed, (first + batch) // steps, (first + batch) % steps)
        start = sampler.batch_size * part // TASKS
        end = sampler.batch_size * (part + 1) // TASKS
        draw_pairs(data, sampler.rated_share, stream, pairs_of(pairs, batch), start, end)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, tasks)
    return phase + 1


@compiled
def harden_batch(
    data: TrainingData,
    parameters: Parameters,
    sampler: SamplerSettings,
    number: int,
    steps: int,
    pairs: Pairs,
    counters: Counters,
    phase: int,
) -> int:
    """Make the unrated items of the only batch hard, in one phase, and return the next phase."""
    stream = random_stream(sampler.seed, number // steps, number % steps)
    task = begin_task(counters, phase)
    while task < TASKS:
        start = sampler.batch_size * task // TASKS
        end = sampler.batch_size * (task + 1) // TASKS
        drawn = pairs_of(pairs, 0)
        choose_hardest(data, parameters, sampler.hard_negatives, stream, drawn, start, end)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, TASKS)
    return phase + 1


@compiled
def group_batches(
    batches: int,
    user_keys: Int32s,
    item_keys: Int32s,
    users: Groups,
    items: Groups,
    first_joined: int,
    counters: Counters,
    phase: int,
) -> int:
    """Group batches by user and by item, in one phase, and return the next phase.

    Keys are one row per batch. Every other batch from ``first_joined`` on is grouped as if all its
    samples had one user, for they share one Σ; if it is negative, none is.
    """
    tasks = batches * 2
    task = begin_task(counters, phase)
    while task < tasks:
        batch = task // 2
        if task % 2 == 1:
            group(item_keys[batch], groups_of(items, batch))
        elif first_joined >= 0 and batch % 2 == first_joined:
            group(np.minimum(user_keys[batch], np.int32(0)), groups_of(users, batch))
        else:
            group(user_keys[batch], groups_of(users, batch))
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, tasks)
    return phase + 1


@compiled
def item_keys_of(pairs: Pairs) -> Int32s:
    """Return the items i and j of all pairs, one row per batch."""
    return pairs.items.reshape(pairs.items.shape[0], 2 * pairs.items.shape[1])


@compiled
def update_factors_together(
    parameters: Parameters,
    squares: Accumulators,
    settings: FactorSettings,
    users: Groups,
    items: Groups,
    gradients: FactorGradients,
    objectives: Floats,
    counters: Counters,
    phase: int,
) -> None:
    """Update U, V, W and the offsets in one phase, and note the mean objective of the batch."""
    task = begin_task(counters, phase)
    while task < TASKS:
        if task == 0:
            objectives[0] = mean_objective(gradients.objective, users)
        update_factors(parameters, squares, settings, users, items, gradients, task)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, TASKS)


@compiled
def mean_objective(objective: Floats, users: Groups) -> float:
    """Return the mean over the samples of a batch of what the tasks have summed."""
    total = 0.0
    for task in range(TASKS):
        total += objective[task]
    drawn = users.totals[1]
    return total / drawn if drawn > 0 else np.nan


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
