"""The criterion of M-BPR: a logistic loss per aspect on pairs (u, i, j), and its iterations.

With x_k = sign(r_uik − r_ujk) μ_k, μ = (U_u * (V_i − V_j)) Wᵀ, the loss of aspect k is
ℓ_k = −ln σ(x_k) where the aspect differs, and nothing where it does not or is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.lanes import LANES, Lanes, load, spread, store, where_less
from dmrank.compiled.ranges import count_threads
from dmrank.compiled.tasks import TASKS, Counters, new_counters, run_on_threads, share_tasks
from dmrank.compiled.transpose import gather
from dmrank.support.arrays import Float32s, Floats
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
from dmrank.training.pairwise.factors import (
    FactorBlock,
    FactorGradients,
    FactorStep,
    empty_factor_gradients,
    gather_factors,
    new_factor_block,
    number_lanes,
    predict_means,
    prefetch_factors,
    update_factors,
    write_gradients,
    write_sums,
)
from dmrank.training.pairwise.logistic import logistic_loss, logistic_slope, sign_of
from dmrank.training.pairwise.settings import FactorSettings, SamplerSettings

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.pairwise.parameters import Accumulators, Parameters
    from dmrank.training.pairwise.sampling import Pairs

# Keeps the share ℓ / ℓ_k of an aspect finite when its loss vanishes.
_SMALLEST_LOSS = 1e-6

Combination = Literal["sum", "product"]


class _Training(NamedTuple):
    """Everything that a run reads and changes."""

    source: Source
    batches: Batches
    factors: FactorStep
    is_product: bool


class _Block(NamedTuple):
    """Sixteen pairs: their factors, d, μ and ∂/∂μ."""

    factors: FactorBlock
    difference: Float32s
    mean: Float32s
    mean_gradient: Float32s


@dataclass(frozen=True)
class LogisticSettings:
    """How an iteration is made: how pairs are drawn, factors updated, and losses combined."""

    sampler: SamplerSettings
    update: FactorSettings
    combination: Combination = "sum"


def run_logistic_iterations(
    data: TrainingData,
    parameters: Parameters,
    accumulators: Accumulators,
    settings: LogisticSettings,
    first_iteration: int,
    count: int,
    threads: int | None = None,
) -> Floats:
    """Run iterations ``first_iteration`` to ``first_iteration + count - 1`` in place.

    What an iteration does depends on nothing but the arguments and its number, bit for bit,
    whatever the number of threads and however a run is cut into calls.

    Returns
    -------
    array of length ``count``
        Minus the mean loss per pair before the update; NaN for a batch without a pair.
    """
    sampler = settings.sampler
    gradients = empty_factor_gradients(parameters, in_whole_blocks(sampler.batch_size))
    training = _Training(
        source=Source(data, sampler, steps=1),
        batches=empty_batches(sampler, data.values.shape[1]),
        factors=FactorStep(parameters, accumulators, settings.update, gradients),
        is_product=settings.combination == "product",
    )
    objectives = np.full((count, 1), np.nan)
    # A batch has two phases; drawing, hardening and grouping are three more.
    counters = new_counters(2 * count + 3 * (count // len(training.batches.pairs.users) + 1))
    run_on_threads(count_threads(threads), _run, training, first_iteration, objectives, counters)
    return objectives[:, 0]


@cached
def _run(training: _Training, first_iteration: int, objectives: Floats, counters: Counters) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    source, batches, step, is_product = training
    total = objectives.shape[0]
    ahead = batches.pairs.users.shape[0]
    phase = 0
    for begin in range(0, total, ahead):
        numbers = Range(first_iteration + begin, min(ahead, total - begin))
        phase = prepare_batches(
            source, step.parameters, numbers, batches, NONE_JOINED, counters, phase
        )
        for n in range(numbers.length):
            batch = batch_of(batches, n)
            to_differentiate = (batch.pairs, step.parameters, is_product, step.gradients)
            phase = share_tasks(counters, phase, TASKS, _differentiate, to_differentiate)
            to_update = (step, batch.grouping, objectives[begin + n])
            phase = share_tasks(counters, phase, TASKS, update_factors, to_update)


@compiled
def _new_block(parameters: Parameters, aspect_columns: int) -> _Block:
    return _Block(
        new_factor_block(parameters.aspects.shape[1]),
        np.zeros((aspect_columns, LANES), np.float32),
        np.zeros((aspect_columns, LANES), np.float32),
        np.zeros((aspect_columns, LANES), np.float32),
    )


@compiled
def _differentiate(arguments: tuple[Pairs, Parameters, bool, FactorGradients], task: int) -> None:
    """Compute the gradients of the pairs of one task out of `TASKS`."""
    pairs, parameters, is_product, out = arguments
    K = parameters.aspects.shape[0]
    block = _new_block(parameters, pairs.differences.shape[1])
    by_aspects = np.zeros((parameters.aspects.size, LANES), np.float32)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        prefetch_factors(pairs, start + TASKS * LANES, parameters)
        number_lanes(pairs, start, block.factors)
        gather(pairs.differences, block.factors.numbers, block.difference)
        gather_factors(parameters, block.factors, block.mean)
        predict_means(parameters, block.factors, block.mean)
        if is_product:
            total = total + _differentiate_product(block, K)
        else:
            total = total + _differentiate_sum(block, K)
        write_gradients(parameters, block.factors, block.mean_gradient, by_aspects, out)
    write_sums(by_aspects, total, out, task)


@compiled
def _differentiate_sum(block: _Block, aspects: int) -> Lanes:
    """Set ∂/∂μ of −Σ_k ℓ_k and return that value."""
    total = spread(0.0)
    for k in range(aspects):
        sign = sign_of(load(block.difference, k))
        x = sign * load(block.mean, k)
        total = total - sign * sign * logistic_loss(x)
        store(block.mean_gradient, k, sign * logistic_slope(x))
    return total


@compiled
def _differentiate_product(block: _Block, aspects: int) -> Lanes:
    """Set ∂/∂μ of −Π_k ℓ_k over the aspects that differ, and return that value."""
    product = spread(1.0)
    differing = spread(0.0)
    for k in range(aspects):
        sign = sign_of(load(block.difference, k))
        loss = logistic_loss(sign * load(block.mean, k))
        product = product * where_less(0.0, sign * sign, loss, 1.0)
        differing = differing + sign * sign
    product = where_less(0.0, differing, product, 0.0)
    for k in range(aspects):
        sign = sign_of(load(block.difference, k))
        x = sign * load(block.mean, k)
        loss = logistic_loss(x)
        loss = where_less(loss, _SMALLEST_LOSS, _SMALLEST_LOSS, loss)
        store(block.mean_gradient, k, sign * product * logistic_slope(x) / loss)
    return -product
