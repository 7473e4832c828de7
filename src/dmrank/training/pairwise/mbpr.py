"""The criterion of M-BPR: a logistic loss per aspect on pairs (u, i, j), and its iterations.

With x_k = sign(r_uik − r_ujk) μ_k, μ = (U_u * (V_i − V_j)) Wᵀ, the loss of aspect k is
ℓ_k = −ln σ(x_k) where the aspect differs, and nothing where it does not or is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.elementary import exp, log1p
from dmrank.compiled.lanes import (
    LANES,
    QUAD,
    Lanes,
    load,
    spread,
    store,
    sum_of_lanes,
    where_less,
)
from dmrank.compiled.ranges import count_threads
from dmrank.compiled.tasks import (
    Counters,
    begin_task,
    finish_and_begin_task,
    new_counters,
    run_on_threads,
    wait_for_tasks,
)
from dmrank.compiled.transpose import gather, prefetch_row, scatter
from dmrank.support.arrays import Float32s, Floats, Int64s
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
    pairs_of,
    update_factors_together,
)
from dmrank.training.pairwise.factors import FactorGradients, differentiate_products
from dmrank.training.pairwise.pairs import gather_difference, number_lanes, predict_means
from dmrank.training.pairwise.sampling import Groups, Pairs
from dmrank.training.pairwise.settings import FactorSettings, SamplerSettings

if TYPE_CHECKING:
    from dmrank.training.data import Accumulators, Parameters, TrainingData


# Keeps the share ℓ / ℓ_k of an aspect finite when its loss vanishes.
_SMALLEST_LOSS = 1e-6

Combination = Literal["sum", "product"]


class _Block(NamedTuple):
    """Sixteen pairs: where they are, their factors, d, μ and ∂/∂μ."""

    numbers: Int64s
    users: Int64s
    first: Int64s
    second: Int64s
    user_factors: Float32s
    item_differences: Float32s
    quads: Float32s
    difference: Float32s
    mean: Float32s
    mean_gradient: Float32s


@dataclass(frozen=True)
class LogisticSettings:
    """How an iteration is made; see `training.settings.StepSettings` for the names."""

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

    The promise is that of `training.steps.run_iterations`.

    Returns
    -------
    array of length ``count``
        Minus the mean loss per pair before the update; NaN for a batch without a pair.
    """
    sampler = settings.sampler
    size = in_whole_blocks(sampler.batch_size)
    ahead = batches_ahead(sampler.batch_size) if sampler.hard_negatives == 1 else 1
    objectives = np.full((count, 1), np.nan)
    run_on_threads(
        count_threads(threads),
        _run,
        data,
        parameters,
        accumulators,
        sampler,
        settings.update,
        settings.combination == "product",
        empty_pairs(ahead, sampler.batch_size, data.values.shape[1]),
        empty_groups(ahead, size),
        empty_groups(ahead, 2 * size),
        empty_factor_gradients(parameters, sampler.batch_size),
        first_iteration,
        objectives,
        new_counters(2 * count + 3 * (count // ahead + 1)),
    )
    return objectives[:, 0]


@compiled
def _new_block(parameters: Parameters, aspect_columns: int) -> _Block:
    factors = parameters.aspects.shape[1]
    return _Block(
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros((factors, LANES), np.float32),
        np.zeros((factors, LANES), np.float32),
        np.zeros((2 * QUAD, LANES), np.float32),
        np.zeros((aspect_columns, LANES), np.float32),
        np.zeros((aspect_columns, LANES), np.float32),
        np.zeros((aspect_columns, LANES), np.float32),
    )


@compiled
def _prefetch(pairs: Pairs, start: int, parameters: Parameters) -> None:
    for pair in range(start, min(start + LANES, pairs.users.shape[0])):
        prefetch_row(parameters.users, max(pairs.users[pair], 0))
        prefetch_row(parameters.items, max(pairs.items[pair, 0], 0))
        prefetch_row(parameters.items, max(pairs.items[pair, 1], 0))


@compiled
def _gather(pairs: Pairs, start: int, parameters: Parameters, block: _Block) -> None:
    number_lanes(pairs, start, block.numbers, block.users, block.first, block.second)
    gather(pairs.differences, block.numbers, block.difference)
    gather(parameters.users, block.users, block.user_factors)
    first, second, quads = block.first, block.second, block.quads
    gather_difference(parameters.items, first, second, quads, block.item_differences)
    if parameters.offsets.shape[0] > 0:
        gather_difference(parameters.offsets, first, second, quads, block.mean)


@compiled
def sign_of(difference: Lanes) -> Lanes:
    """Return 1, −1, or 0 where the aspect does not differ or is missing (NaN)."""
    return where_less(0.0, difference, 1.0, 0.0) - where_less(difference, 0.0, 1.0, 0.0)


@compiled
def logistic_loss(x: Lanes) -> Lanes:
    """Return −ln σ(x) = ln(1 + e^{−x})."""
    away = where_less(x, 0.0, -x, x)
    return where_less(x, 0.0, -x, 0.0) + log1p(exp(-away))


@compiled
def logistic_slope(x: Lanes) -> Lanes:
    """Return −∂/∂x of the loss, σ(−x)."""
    return 1.0 / (1.0 + exp(x))


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


@compiled
def _differentiate(
    pairs: Pairs, parameters: Parameters, is_product: bool, out: FactorGradients, task: int
) -> None:
    """Compute the gradients of the pairs of one task out of `TASKS`."""
    K, factors = parameters.aspects.shape
    block = _new_block(parameters, pairs.differences.shape[1])
    by_aspects = np.zeros((K * factors, LANES), np.float32)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        _prefetch(pairs, start + TASKS * LANES, parameters)
        _gather(pairs, start, parameters, block)
        predict_means(parameters, block.user_factors, block.item_differences, block.mean)
        if is_product:
            total = total + _differentiate_product(block, K)
        else:
            total = total + _differentiate_sum(block, K)
        differentiate_products(
            parameters,
            block.user_factors,
            block.item_differences,
            block.mean_gradient,
            by_aspects,
        )
        scatter(out.users, block.numbers, block.item_differences)
        scatter(out.items, block.numbers, block.user_factors)
        if out.offsets.shape[0] > 0:
            scatter(out.offsets, block.numbers, block.mean_gradient)
    for n in range(K * factors):
        out.aspects[task, n] = sum_of_lanes(load(by_aspects, n))
    out.objective[task] = sum_of_lanes(total)


@cached
def _run(
    data: TrainingData,
    parameters: Parameters,
    squares: Accumulators,
    sampler: SamplerSettings,
    update: FactorSettings,
    is_product: bool,
    pairs: Pairs,
    users: Groups,
    items: Groups,
    gradients: FactorGradients,
    first_iteration: int,
    objectives: Floats,
    counters: Counters,
) -> None:
    """Run every iteration; all threads of a team run this function with the same arguments."""
    total = objectives.shape[0]
    ahead = pairs.users.shape[0]
    phase = 0
    for begin in range(0, total, ahead):
        batches = min(ahead, total - begin)
        first = first_iteration + begin
        phase = draw_batches(data, sampler, first, 1, batches, pairs, counters, phase)
        if sampler.hard_negatives > 1:
            phase = harden_batch(data, parameters, sampler, first, 1, pairs, counters, phase)
        keys = item_keys_of(pairs)
        phase = group_batches(batches, pairs.users, keys, users, items, -1, counters, phase)
        for batch in range(batches):
            drawn = pairs_of(pairs, batch)
            task = begin_task(counters, phase)
            while task < TASKS:
                _differentiate(drawn, parameters, is_product, gradients, task)
                task = finish_and_begin_task(counters, phase)
            wait_for_tasks(counters, phase, TASKS)
            update_factors_together(
                parameters,
                squares,
                update,
                groups_of(users, batch),
                groups_of(items, batch),
                gradients,
                objectives[begin + batch],
                counters,
                phase + 1,
            )
            phase += 2
