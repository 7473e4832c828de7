"""Iterations of training: a factor step, then a covariance step on fresh pairs (paper 3.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from dmrank.directional.batches import family_constants
from dmrank.directional.compiling import compiled, source_fingerprint
from dmrank.directional.kernels import packed
from dmrank.directional.lanes import LANES
from dmrank.directional.transpose import padded
from dmrank.parallel import count_threads
from dmrank.training.adagrad import TASKS
from dmrank.training.batches import (
    draw_task,
    group_task,
    groups_of,
    pairs_of,
    update_covariances,
    update_factors,
)
from dmrank.training.covariances import CovarianceGradients, differentiate_covariances
from dmrank.training.factors import FactorGradients, differentiate_factors
from dmrank.training.pairs import IDENTITY, SHARED
from dmrank.training.sampling import NO_ROW, Groups, Pairs
from dmrank.training.settings import (
    factor_settings,
    pair_covariance,
    prior_weights,
    root_update,
    sampler_settings,
)
from dmrank.training.threads import (
    begin_task,
    finish_and_begin_task,
    new_counters,
    run_on_threads,
    wait_for_tasks,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dmrank.directional.kernels import FamilyConstants
    from dmrank.training.covariances import RootUpdate
    from dmrank.training.data import Accumulators, Parameters, TrainingData
    from dmrank.training.pairs import PairCovariance
    from dmrank.training.settings import (
        CovariancePrior,
        FactorSettings,
        PriorWeights,
        SamplerSettings,
        StepSettings,
    )

    Float32s = NDArray[np.float32]
    Objectives = NDArray[np.float64]
    Counters = NDArray[np.int64]

# Batches are drawn ahead until they hold so many pairs: drawing needs no parameters, and threads
# wait for each other less often.
_PAIRS_AHEAD = 32_768
_MOST_BATCHES_AHEAD = 16


class _Workspace(NamedTuple):
    """Scratch memory of a run: batches drawn ahead, and the gradients of one batch."""

    pairs: Pairs
    users: Groups
    items: Groups
    factors: FactorGradients
    covariances: CovarianceGradients


def run_iterations(
    data: TrainingData,
    parameters: Parameters,
    accumulators: Accumulators,
    prior: CovariancePrior,
    settings: StepSettings,
    first_iteration: int,
    count: int,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Run iterations ``first_iteration`` to ``first_iteration + count - 1`` in place.

    What an iteration does depends on nothing but the arguments and its number, bit for bit,
    whatever the number of threads and however a run is cut into calls.

    Returns
    -------
    array of shape (count, 2)
        Mean log-likelihood per pair, before the update, of the factor and the covariance step;
        NaN where a step had no pair or does not exist.
    """
    objectives = np.full((count, 2), np.nan)
    workspace = _workspace(parameters, settings)
    batches = count * 2
    ahead = workspace.pairs.users.shape[0]
    # A batch has two phases; drawing and grouping are two more.
    counters = new_counters(2 * batches + 2 * (batches // ahead + 1))
    run_on_threads(
        count_threads(threads),
        _run,
        data,
        parameters,
        accumulators,
        sampler_settings(settings),
        pair_covariance(settings, data),
        family_constants(settings.family, parameters.aspects.shape[0]),
        factor_settings(settings),
        root_update(settings, prior),
        prior_weights(settings, data),
        *workspace,
        first_iteration,
        objectives,
        counters,
    )
    return objectives


def _workspace(parameters: Parameters, settings: StepSettings) -> _Workspace:
    K = parameters.aspects.shape[0]
    width = parameters.users.shape[1]
    # Whole blocks of lanes; what is beyond the batch counts as skipped.
    B = -(-settings.batch_size // LANES) * LANES
    # The hardest j depends on the parameters: it cannot be chosen ahead.
    ahead = 1
    if settings.hard_negatives == 1:
        ahead = min(max(_PAIRS_AHEAD // B, 1), _MOST_BATCHES_AHEAD)

    def groups(entries: int) -> Groups:
        shapes = [(ahead, entries)] * 4 + [(ahead, 2)]
        return Groups(*(np.empty(shape, dtype=np.int32) for shape in shapes))

    def rows(count: int, columns: int) -> Float32s:
        return np.zeros((count, columns), dtype=np.float32)

    return _Workspace(
        pairs=Pairs(
            np.full((ahead, B), -1, dtype=np.int32),
            np.full((ahead, B, 2), -1, dtype=np.int32),
            np.zeros((ahead, B, padded(K)), dtype=np.float32),
            np.full((ahead, B), NO_ROW, dtype=np.int64),
        ),
        users=groups(B),
        items=groups(2 * B),
        factors=FactorGradients(
            rows(B, width),
            rows(B, width),
            rows(B if len(parameters.offsets) else 0, padded(K)),
            rows(TASKS, K * width),
            np.zeros(TASKS),
        ),
        covariances=CovarianceGradients(rows(B, padded(packed(K, 0))), np.zeros(TASKS)),
    )


@compiled
def _factor_step(
    pairs: Pairs,
    users: Groups,
    items: Groups,
    parameters: Parameters,
    squares: Accumulators,
    covariance: PairCovariance,
    family: FamilyConstants,
    settings: FactorSettings,
    gradients: FactorGradients,
    objectives: Objectives,
    counters: Counters,
    phase: int,
) -> None:
    task = begin_task(counters, phase)
    while task < TASKS:
        differentiate_factors(pairs, parameters, covariance, family, gradients, task)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, TASKS)
    task = begin_task(counters, phase + 1)
    while task < TASKS:
        if task == 0:
            objectives[0] = _mean(gradients.objective, users)
        update_factors(parameters, squares, settings, users, items, gradients, task)
        task = finish_and_begin_task(counters, phase + 1)
    wait_for_tasks(counters, phase + 1, TASKS)


@compiled
def _covariance_step(
    pairs: Pairs,
    users: Groups,
    items: Groups,
    parameters: Parameters,
    squares: Accumulators,
    covariance: PairCovariance,
    family: FamilyConstants,
    how: RootUpdate,
    weights: PriorWeights,
    gradients: CovarianceGradients,
    objectives: Objectives,
    counters: Counters,
    phase: int,
) -> None:
    task = begin_task(counters, phase)
    while task < TASKS:
        differentiate_covariances(pairs, parameters, covariance, family, gradients, task)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, TASKS)
    task = begin_task(counters, phase + 1)
    while task < TASKS:
        if task == 0:
            objectives[1] = _mean(gradients.objective, users)
        update_covariances(
            parameters, squares, covariance, how, weights, users, items, gradients, task
        )
        task = finish_and_begin_task(counters, phase + 1)
    wait_for_tasks(counters, phase + 1, TASKS)


@compiled
def _mean(objective: Objectives, users: Groups) -> float:
    total = 0.0
    for task in range(TASKS):
        total += objective[task]
    drawn = users.totals[1]
    return total / drawn if drawn > 0 else np.nan


def _cached_run(sources: int) -> Any:
    """Return the compiled loop over iterations, cached under a fingerprint of its sources."""

    @njit(nogil=True, cache=True, error_model="numpy")
    def run(
        data: TrainingData,
        parameters: Parameters,
        squares: Accumulators,
        sampler: SamplerSettings,
        covariance: PairCovariance,
        family: FamilyConstants,
        factor_update: FactorSettings,
        root_update: RootUpdate,
        weights: PriorWeights,
        pairs: Pairs,
        users: Groups,
        items: Groups,
        by_factors: FactorGradients,
        by_covariances: CovarianceGradients,
        first_iteration: int,
        objectives: Objectives,
        counters: Counters,
    ) -> None:
        """Run every iteration; all threads of a team run this function with the same arguments."""
        # `sources` makes the fingerprint a part of the closure; it is never negative.
        steps = 1 if covariance.kind == IDENTITY or sources < 0 else 2
        total = objectives.shape[0] * steps
        ahead = pairs.users.shape[0]
        phase = 0
        for begin in range(0, total, ahead):
            batches = min(ahead, total - begin)
            first = first_iteration * steps + begin
            tasks = batches * TASKS
            task = begin_task(counters, phase)
            while task < tasks:
                draw_task(data, parameters, sampler, first, steps, pairs, task)
                task = finish_and_begin_task(counters, phase)
            wait_for_tasks(counters, phase, tasks)
            tasks = batches * 2
            task = begin_task(counters, phase + 1)
            while task < tasks:
                is_shared = covariance.kind == SHARED and (begin + task // 2) % steps == 1
                group_task(pairs, users, items, is_shared, task)
                task = finish_and_begin_task(counters, phase + 1)
            wait_for_tasks(counters, phase + 1, tasks)
            phase += 2
            for batch in range(batches):
                iteration, step = (begin + batch) // steps, (begin + batch) % steps
                drawn = pairs_of(pairs, batch)
                of_users, of_items = groups_of(users, batch), groups_of(items, batch)
                if step == 0:
                    _factor_step(
                        drawn,
                        of_users,
                        of_items,
                        parameters,
                        squares,
                        covariance,
                        family,
                        factor_update,
                        by_factors,
                        objectives[iteration],
                        counters,
                        phase,
                    )
                else:
                    _covariance_step(
                        drawn,
                        of_users,
                        of_items,
                        parameters,
                        squares,
                        covariance,
                        family,
                        root_update,
                        weights,
                        by_covariances,
                        objectives[iteration],
                        counters,
                        phase,
                    )
                phase += 2

    return run


_run = _cached_run(source_fingerprint())
