"""Iterations of DMR: a factor step, then a covariance step on fresh pairs (paper 3.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, spliced
from dmrank.compiled.ranges import count_threads
from dmrank.compiled.tasks import TASKS, Counters, new_counters, run_on_threads, share_tasks
from dmrank.support.arrays import Floats
from dmrank.training.pairwise.batches import (
    NONE_JOINED,
    Batches,
    Range,
    Source,
    batch_of,
    empty_batches,
    in_whole_blocks,
    prepare_batches,
)
from dmrank.training.pairwise.covariances import (
    CovarianceStep,
    differentiate_covariances,
    empty_covariance_gradients,
    update_covariances,
)
from dmrank.training.pairwise.criterion import SHARED, Criterion, differentiate_factors
from dmrank.training.pairwise.dmr_settings import (
    CovariancePrior,
    StepSettings,
    criterion_of,
    factor_settings,
    prior_weights,
    root_update,
    sampler_settings,
)
from dmrank.training.pairwise.factors import FactorStep, empty_factor_gradients, update_factors

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.pairwise.parameters import Accumulators, Parameters


class _Training(NamedTuple):
    """Everything that a run reads and changes."""

    source: Source
    batches: Batches
    criterion: Criterion
    factors: FactorStep
    covariances: CovarianceStep


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
    sampler = sampler_settings(settings)
    size = in_whole_blocks(sampler.batch_size)
    K = parameters.aspects.shape[0]
    training = _Training(
        source=Source(data, sampler, steps=1 if settings.covariance == "identity" else 2),
        batches=empty_batches(sampler, K),
        criterion=criterion_of(settings, data),
        factors=FactorStep(
            parameters,
            accumulators,
            factor_settings(settings),
            empty_factor_gradients(parameters, size),
        ),
        covariances=CovarianceStep(
            parameters,
            accumulators,
            root_update(settings, prior),
            prior_weights(settings, data),
            empty_covariance_gradients(K, size),
        ),
    )
    batches, ahead = count * training.source.steps, len(training.batches.pairs.users)
    # A batch has two phases; drawing, hardening and grouping are three more.
    counters = new_counters(2 * batches + 3 * (batches // ahead + 1))
    run_on_threads(count_threads(threads), _run, training, first_iteration, objectives, counters)
    return objectives


@cached
def _run(training: _Training, first_iteration: int, objectives: Floats, counters: Counters) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    source, batches = training.source, training.batches
    total = objectives.shape[0] * source.steps
    ahead = batches.pairs.users.shape[0]
    phase = 0
    for begin in range(0, total, ahead):
        numbers = Range(first_iteration * source.steps + begin, min(ahead, total - begin))
        # A shared Σ is that of one user, in every second batch: the covariance steps.
        shared = training.criterion.kind == SHARED
        first_joined = (begin + 1) % 2 if shared else NONE_JOINED
        parameters = training.factors.parameters
        phase = prepare_batches(source, parameters, numbers, batches, first_joined, counters, phase)
        for n in range(numbers.length):
            iteration, step = (begin + n) // source.steps, (begin + n) % source.steps
            batch, noted = batch_of(batches, n), objectives[iteration]
            if step == 0:
                phase = _factor_step(training, batch, noted, counters, phase)
            else:
                phase = _covariance_step(training, batch, noted, counters, phase)


@spliced
def _factor_step(
    training: _Training, batch: Batches, objectives: Floats, counters: Counters, phase: int
) -> int:
    step = training.factors
    to_differentiate = (batch.pairs, step.parameters, training.criterion, step.gradients)
    phase = share_tasks(counters, phase, TASKS, differentiate_factors, to_differentiate)
    to_update = (step, batch.grouping, objectives)
    return share_tasks(counters, phase, TASKS, update_factors, to_update)


@spliced
def _covariance_step(
    training: _Training, batch: Batches, objectives: Floats, counters: Counters, phase: int
) -> int:
    step = training.covariances
    to_differentiate = (batch.pairs, step.parameters, training.criterion, step.gradients)
    phase = share_tasks(counters, phase, TASKS, differentiate_covariances, to_differentiate)
    to_update = (step, training.criterion, batch.grouping, objectives)
    return share_tasks(counters, phase, TASKS, update_covariances, to_update)
