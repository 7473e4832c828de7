"""Iterations of MTER: a rating step and a ranking step, each on a fresh batch.

rating    ½ Σ_k (r_uik − r̂_uik)² over the known aspects of a training row
ranking   −w ln σ(sign(r_uio − r_ujo)(r̂_uio − r̂_ujo)) of a pair, o the primary aspect
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.ranges import count_threads
from dmrank.compiled.tasks import (
    Counters,
    begin_task,
    finish_and_begin_task,
    new_counters,
    run_on_threads,
    wait_for_tasks,
)
from dmrank.support.arrays import Float32s, Floats
from dmrank.training.pairwise.adagrad import TASKS, RowUpdate, update_rows
from dmrank.training.pairwise.batches import (
    batches_ahead,
    draw_batches,
    empty_groups,
    empty_pairs,
    group_batches,
    groups_of,
    in_whole_blocks,
    item_keys_of,
    mean_objective,
    pairs_of,
)
from dmrank.training.pairwise.sampling import random_stream, uniform_below
from dmrank.training.pairwise.tucker import (
    Rows,
    TuckerGradients,
    TuckerParameters,
    TuckerSettings,
    differentiate_order,
    differentiate_ratings,
    slice_core,
    update_core,
)

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.pairwise.sampling import Groups, Pairs
    from dmrank.training.pairwise.settings import SamplerSettings


_RATING, _RANKING = range(2)
# The sampler of pairs uses the streams of step 0.
_STREAM_OF_ROWS = 1


def run_tucker_iterations(
    data: TrainingData,
    parameters: TuckerParameters,
    accumulators: TuckerParameters,
    settings: TuckerSettings,
    sampler: SamplerSettings,
    first_iteration: int,
    count: int,
    threads: int | None = None,
) -> Floats:
    """Run iterations ``first_iteration`` to ``first_iteration + count - 1`` in place.

    The promise is that of `training.steps.run_iterations`.

    Returns
    -------
    array of shape (count, 2)
        Mean objective per row and per pair before the updates.
    """
    K, width = len(parameters.aspects), parameters.users.shape[1]
    size = in_whole_blocks(sampler.batch_size)
    ahead = batches_ahead(sampler.batch_size)
    # Pairs that do not differ in the primary aspect say nothing here: they are drawn again.
    primary = slice(settings.primary, settings.primary + 1)
    by_primary = data._replace(values=np.ascontiguousarray(data.values[:, primary]))
    objectives = np.full((count, 2), np.nan)
    run_on_threads(
        count_threads(threads),
        _run,
        data,
        by_primary,
        parameters,
        accumulators,
        np.zeros((K, width, width), dtype=np.float32),
        settings,
        sampler,
        Rows(
            np.full((ahead, size), -1, dtype=np.int64),
            np.full((ahead, size), -1, dtype=np.int32),
            np.full((ahead, size), -1, dtype=np.int32),
        ),
        empty_groups(ahead, size),
        empty_groups(ahead, size),
        empty_pairs(ahead, sampler.batch_size, 1),
        empty_groups(ahead, size),
        empty_groups(ahead, 2 * size),
        TuckerGradients(
            np.zeros((size, width), dtype=np.float32),
            np.zeros((size, width), dtype=np.float32),
            np.zeros((TASKS, K, width, width), dtype=np.float32),
            np.zeros(TASKS),
        ),
        first_iteration,
        objectives,
        # One phase for the slices, four for each draw, and two steps of two per iteration.
        new_counters(1 + 4 * (count // ahead + 1) + 4 * count),
    )
    return objectives


@compiled
def _rows_of(rows: Rows, batch: int) -> Rows:
    return Rows(rows.numbers[batch], rows.users[batch], rows.items[batch])


@compiled
def _draw_rows(
    data: TrainingData,
    sampler: SamplerSettings,
    first: int,
    batches: int,
    rows: Rows,
    counters: Counters,
    phase: int,
) -> int:
    """Draw the rows of iterations from ``first`` on, in one phase, and return the next phase."""
    task = begin_task(counters, phase)
    while task < batches:
        stream = random_stream(sampler.seed, first + task, _STREAM_OF_ROWS)
        for sample in range(sampler.batch_size):
            row = uniform_below(stream, sample, 0, data.items.shape[0])
            rows.numbers[task, sample] = row
            rows.users[task, sample] = data.row_users[row]
            rows.items[task, sample] = data.items[row]
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, batches)
    return phase + 1


@compiled
def _update(
    parameters: TuckerParameters,
    squares: TuckerParameters,
    slices: Float32s,
    settings: TuckerSettings,
    users: Groups,
    items: Groups,
    gradients: TuckerGradients,
    objectives: Floats,
    step: int,
    counters: Counters,
    phase: int,
) -> None:
    """Update U, V and, in the first task, F and G with their slices."""
    how = RowUpdate(settings.learning_rate, settings.scale, settings.regularization, True)
    first = 0 if step == _RATING else settings.primary
    end = slices.shape[0] if step == _RATING else settings.primary + 1
    task = begin_task(counters, phase)
    while task < TASKS:
        if task == 0:
            objectives[step] = mean_objective(gradients.objective, users)
            samples = users.totals[1]
            update_core(parameters, squares, settings, gradients.slices, first, end, samples)
            slice_core(parameters, slices)
        update_rows(parameters.users, squares.users, users, gradients.users, how, task)
        update_rows(parameters.items, squares.items, items, gradients.items, how, task)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, TASKS)


@cached
def _run(
    data: TrainingData,
    by_primary: TrainingData,
    parameters: TuckerParameters,
    squares: TuckerParameters,
    slices: Float32s,
    settings: TuckerSettings,
    sampler: SamplerSettings,
    rows: Rows,
    row_users: Groups,
    row_items: Groups,
    pairs: Pairs,
    pair_users: Groups,
    pair_items: Groups,
    gradients: TuckerGradients,
    first_iteration: int,
    objectives: Floats,
    counters: Counters,
) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    total = objectives.shape[0]
    ahead = pairs.users.shape[0]
    if begin_task(counters, 0) == 0:
        slice_core(parameters, slices)
        finish_and_begin_task(counters, 0)
    wait_for_tasks(counters, 0, 1)
    phase = 1
    for begin in range(0, total, ahead):
        batches = min(ahead, total - begin)
        first = first_iteration + begin
        phase = _draw_rows(data, sampler, first, batches, rows, counters, phase)
        phase = group_batches(
            batches, rows.users, rows.items, row_users, row_items, -1, counters, phase
        )
        phase = draw_batches(by_primary, sampler, first, 1, batches, pairs, counters, phase)
        keys = item_keys_of(pairs)
        phase = group_batches(
            batches, pairs.users, keys, pair_users, pair_items, -1, counters, phase
        )
        for batch in range(batches):
            drawn_rows, drawn_pairs = _rows_of(rows, batch), pairs_of(pairs, batch)
            for step in range(2):
                task = begin_task(counters, phase)
                while task < TASKS:
                    if step == _RATING:
                        differentiate_ratings(data, drawn_rows, parameters, slices, gradients, task)
                    else:
                        differentiate_order(
                            drawn_pairs, parameters, slices, settings, gradients, task
                        )
                    task = finish_and_begin_task(counters, phase)
                wait_for_tasks(counters, phase, TASKS)
                _update(
                    parameters,
                    squares,
                    slices,
                    settings,
                    groups_of(row_users if step == _RATING else pair_users, batch),
                    groups_of(row_items if step == _RATING else pair_items, batch),
                    gradients,
                    objectives[begin + batch],
                    step,
                    counters,
                    phase + 1,
                )
                phase += 2
