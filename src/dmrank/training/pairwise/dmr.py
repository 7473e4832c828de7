"""Iterations of training: a factor step, then a covariance step on fresh pairs (paper 3.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
from dmrank.compiled.transpose import padded
from dmrank.directional.batches import family_constants
from dmrank.directional.packing import packed
from dmrank.support.arrays import Floats
from dmrank.training.pairwise.adagrad import TASKS
from dmrank.training.pairwise.batches import (
    batches_ahead,
    draw_batches,
    empty_factor_gradients,
    empty_groups,
    empty_pairs,
    group_batches,
    groups_of,
    harden_batch,
    in_whole_blocks,
    item_keys_of,
    mean_objective,
    pairs_of,
    update_covariances,
    update_factors_together,
)
from dmrank.training.pairwise.covariances import CovarianceGradients, differentiate_covariances
from dmrank.training.pairwise.factors import FactorGradients, differentiate_factors
from dmrank.training.pairwise.pairs import IDENTITY, SHARED
from dmrank.training.pairwise.sampling import Groups, Pairs
from dmrank.training.pairwise.settings import (
    factor_settings,
    pair_covariance,
    prior_weights,
    root_update,
    sampler_settings,
)

if TYPE_CHECKING:
    from dmrank.directional.kernels import FamilyConstants
    from dmrank.training.data import Accumulators, Parameters, TrainingData
    from dmrank.training.pairwise.covariances import RootUpdate
    from dmrank.training.pairwise.pairs import PairCovariance
    from dmrank.training.pairwise.settings import (
        CovariancePrior,
        FactorSettings,
        PriorWeights,
        SamplerSettings,
        StepSettings,
    )


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
) -> Floats:
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
    # A batch has two phases; drawing, hardening and grouping are three more.
    counters = new_counters(2 * batches + 3 * (batches // ahead + 1))
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
    size = in_whole_blocks(settings.batch_size)
    # The hardest j depends on the parameters: it cannot be chosen ahead.
    ahead = batches_ahead(settings.batch_size) if settings.hard_negatives == 1 else 1
    return _Workspace(
        pairs=empty_pairs(ahead, settings.batch_size, K),
        users=empty_groups(ahead, size),
        items=empty_groups(ahead, 2 * size),
        factors=empty_factor_gradients(parameters, settings.batch_size),
        covariances=CovarianceGradients(
            np.zeros((size, padded(packed(K, 0))), dtype=np.float32), np.zeros(TASKS)
        ),
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
    objectives: Floats,
    counters: Counters,
    phase: int,
) -> None:
    task = begin_task(counters, phase)
    while task < TASKS:
        differentiate_factors(pairs, parameters, covariance, family, gradients, task)
        task = finish_and_begin_task(counters, phase)
    wait_for_tasks(counters, phase, TASKS)
    update_factors_together(
        parameters, squares, settings, users, items, gradients, objectives, counters, phase + 1
    )


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
    objectives: Floats,
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
            objectives[1] = mean_objective(gradients.objective, users)
        update_covariances(
            parameters, squares, covariance, how, weights, users, items, gradients, task
        )
        task = finish_and_begin_task(counters, phase + 1)
    wait_for_tasks(counters, phase + 1, TASKS)


@cached
def _run(
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
    objectives: Floats,
    counters: Counters,
) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    steps = 1 if covariance.kind == IDENTITY else 2
    total = objectives.shape[0] * steps
    ahead = pairs.users.shape[0]
    phase = 0
    for begin in range(0, total, ahead):
        batches = min(ahead, total - begin)
        first = first_iteration * steps + begin
        phase = draw_batches(data, sampler, first, steps, batches, pairs, counters, phase)
        if sampler.hard_negatives > 1:
            phase = harden_batch(data, parameters, sampler, first, steps, pairs, counters, phase)
        first_joined = (begin + 1) % 2 if covariance.kind == SHARED else -1
        keys = item_keys_of(pairs)
        phase = group_batches(
            batches, pairs.users, keys, users, items, first_joined, counters, phase
        )
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
