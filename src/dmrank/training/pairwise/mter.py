"""Iterations of MTER: a rating step and a ranking step, each on a fresh batch.

rating    ½ Σ_k (r_uik − r̂_uik)² over the known aspects of a training row
ranking   −w ln σ(sign(r_uio − r_ujo)(r̂_uio − r̂_ujo)) of a pair, o the primary aspect
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled, spliced
from dmrank.compiled.ranges import count_threads
from dmrank.compiled.tasks import TASKS, Counters, new_counters, run_on_threads, share_tasks
from dmrank.support.arrays import Floats
from dmrank.training.data import TrainingData
from dmrank.training.pairwise.adagrad import RowUpdate, Table, update_rows
from dmrank.training.pairwise.batches import (
    NONE_JOINED,
    Batches,
    Keys,
    Range,
    Source,
    batch_of,
    draw_batches,
    empty_batches,
    group_batches,
    group_pairs,
    in_whole_blocks,
)
from dmrank.training.pairwise.factors import mean_objective
from dmrank.training.pairwise.grouping import Grouping, empty_grouping, grouping_of
from dmrank.training.pairwise.sampling import random_stream, uniform_below
from dmrank.training.pairwise.tucker import (
    SampledRows,
    TuckerGradients,
    TuckerParameters,
    TuckerSettings,
    TuckerStep,
    differentiate_order,
    differentiate_ratings,
    slice_core,
    update_core,
)

if TYPE_CHECKING:
    from dmrank.training.pairwise.settings import SamplerSettings

_RATING, _RANKING = range(2)
# The sampler of pairs uses the streams of step 0.
_STREAM_OF_ROWS = 1


class _RowBatches(NamedTuple):
    """Training rows and their groups, one row of each array per batch."""

    rows: SampledRows
    grouping: Grouping


class _Training(NamedTuple):
    """Everything that a run reads and changes; pairs are drawn from the primary aspect."""

    data: TrainingData
    source: Source
    rows: _RowBatches
    pairs: Batches
    step: TuckerStep


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

    What an iteration does depends on nothing but the arguments and its number, bit for bit,
    whatever the number of threads and however a run is cut into calls.

    Returns
    -------
    array of shape (count, 2)
        Mean objective per row and per pair before the updates.
    """
    # Pairs that do not differ in the primary aspect say nothing here: they are drawn again.
    primary = slice(settings.primary, settings.primary + 1)
    by_primary = data._replace(values=np.ascontiguousarray(data.values[:, primary]))
    K, width = len(parameters.aspects), parameters.users.shape[1]
    size = in_whole_blocks(sampler.batch_size)
    gradients = TuckerGradients(
        np.zeros((size, width), dtype=np.float32),
        np.zeros((size, width), dtype=np.float32),
        np.zeros((TASKS, K, width, width), dtype=np.float32),
        np.zeros(TASKS),
    )
    slices = np.zeros((K, width, width), dtype=np.float32)
    pairs = empty_batches(sampler, 1)
    ahead = len(pairs.pairs.users)
    training = _Training(
        data,
        Source(by_primary, sampler, steps=1),
        _empty_row_batches(ahead, size),
        pairs,
        TuckerStep(parameters, accumulators, slices, settings, gradients),
    )
    objectives = np.full((count, 2), np.nan)
    # One phase for the slices, four for each draw, and two steps of two per iteration.
    counters = new_counters(1 + 4 * (count // ahead + 1) + 4 * count)
    run_on_threads(count_threads(threads), _run, training, first_iteration, objectives, counters)
    return objectives


def _empty_row_batches(batches: int, size: int) -> _RowBatches:
    rows = SampledRows(
        np.full((batches, size), -1, dtype=np.int64),
        np.full((batches, size), -1, dtype=np.int32),
        np.full((batches, size), -1, dtype=np.int32),
    )
    return _RowBatches(rows, empty_grouping(batches, size, items_per_sample=1))


@cached
def _run(training: _Training, first_iteration: int, objectives: Floats, counters: Counters) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    data, _, rows, pairs, step = training
    total = objectives.shape[0]
    ahead = pairs.pairs.users.shape[0]
    phase = share_tasks(counters, 0, 1, _slice_core, step)
    for begin in range(0, total, ahead):
        numbers = Range(first_iteration + begin, min(ahead, total - begin))
        phase = _prepare(training, numbers, counters, phase)
        for n in range(numbers.length):
            noted = objectives[begin + n]
            to_rate = (data, _rows_of(rows.rows, n), step)
            phase = share_tasks(counters, phase, TASKS, differentiate_ratings, to_rate)
            to_update = (step, grouping_of(rows.grouping, n), noted, _RATING)
            phase = share_tasks(counters, phase, TASKS, _update, to_update)
            batch = batch_of(pairs, n)
            phase = share_tasks(counters, phase, TASKS, differentiate_order, (batch.pairs, step))
            to_update = (step, batch.grouping, noted, _RANKING)
            phase = share_tasks(counters, phase, TASKS, _update, to_update)


@compiled
def _slice_core(step: TuckerStep, _task: int) -> None:
    slice_core(step.parameters, step.slices)


@spliced
def _prepare(training: _Training, numbers: Range, counters: Counters, phase: int) -> int:
    """Draw and group the rows and the pairs of some iterations, and return the next phase."""
    _, source, drawn, pairs, _ = training
    to_draw = (training.data, source.sampler, numbers.first, drawn.rows)
    phase = share_tasks(counters, phase, numbers.length, _draw_rows, to_draw)
    keys = Keys(drawn.rows.users, drawn.rows.items)
    phase = group_batches(numbers.length, keys, drawn.grouping, NONE_JOINED, counters, phase)
    phase = draw_batches(source, numbers, pairs.pairs, counters, phase)
    return group_pairs(numbers.length, pairs, NONE_JOINED, counters, phase)


@compiled
def _draw_rows(
    arguments: tuple[TrainingData, SamplerSettings, int, SampledRows], task: int
) -> None:
    """Draw the rows of an iteration."""
    data, sampler, first, rows = arguments
    stream = random_stream(sampler.seed, first + task, _STREAM_OF_ROWS)
    for sample in range(sampler.batch_size):
        row = uniform_below(stream, sample, 0, data.items.shape[0])
        rows.numbers[task, sample] = row
        rows.users[task, sample] = data.row_users[row]
        rows.items[task, sample] = data.items[row]


@compiled
def _rows_of(rows: SampledRows, batch: int) -> SampledRows:
    return SampledRows(rows.numbers[batch], rows.users[batch], rows.items[batch])


@compiled
def _update(arguments: tuple[TuckerStep, Grouping, Floats, int], task: int) -> None:
    """Update U, V and, in the first task, F and G with their slices."""
    step, grouping, objectives, kind = arguments
    values, squares, slices, settings, gradients = step
    if task == 0:
        objectives[kind] = mean_objective(gradients.objective, grouping)
        first = 0 if kind == _RATING else settings.primary
        end = slices.shape[0] if kind == _RATING else settings.primary + 1
        update_core(step, first, end, grouping.users.totals[1])
    how = RowUpdate(settings.learning_rate, settings.scale, settings.regularization, True)
    users, items = Table(values.users, squares.users), Table(values.items, squares.items)
    update_rows(users, grouping.users, gradients.users, how, task)
    update_rows(items, grouping.items, gradients.items, how, task)
