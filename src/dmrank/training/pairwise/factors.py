"""The factor model on sixteen pairs: gather, predict, differentiate; and the update by a batch.

μ = (U_u * (V_i − V_j)) Wᵀ + b_i − b_j. What a criterion makes of μ is its own affair: it gives
∂/∂μ, and everything here is the same for every criterion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, QUAD, Lanes, load, spread, store, sum_of_lanes
from dmrank.compiled.tasks import TASKS
from dmrank.compiled.transpose import gather, gather_quads, padded, prefetch_row, scatter
from dmrank.support.arrays import Float32s, Floats, Int64s
from dmrank.training.pairwise.adagrad import RowUpdate, Table, ascended, update_rows

if TYPE_CHECKING:
    from dmrank.training.pairwise.grouping import Grouping
    from dmrank.training.pairwise.parameters import Accumulators, Parameters
    from dmrank.training.pairwise.sampling import Pairs
    from dmrank.training.pairwise.settings import FactorSettings


class FactorBlock(NamedTuple):
    """Sixteen pairs: where they are, and their factors.

    Attributes
    ----------
    numbers, users, first, second
        Row of each lane in the batch, and its u, i and j; a skipped pair has 0.
    user_factors, item_differences
        U_u and V_i − V_j, one row per factor.
    quads
        Twelve rows for what is gathered from up to three tables.
    """

    numbers: Int64s
    users: Int64s
    first: Int64s
    second: Int64s
    user_factors: Float32s
    item_differences: Float32s
    quads: Float32s


class FactorGradients(NamedTuple):
    """Gradients of a batch for its factor step.

    Attributes
    ----------
    users, items
        By U_u and by V_i, one row per pair; by V_j it is minus that by V_i.
    offsets
        By b_i, one row per pair; no rows if the model has no offsets.
    aspects
        By W, summed over the pairs of each task.
    objective
        Summed over the pairs of each task.
    """

    users: Float32s
    items: Float32s
    offsets: Float32s
    aspects: Float32s
    objective: Floats


class FactorStep(NamedTuple):
    """What a factor step changes, by which gradients and how."""

    parameters: Parameters
    squares: Accumulators
    settings: FactorSettings
    gradients: FactorGradients


def empty_factor_gradients(parameters: Parameters, samples: int) -> FactorGradients:
    """Return memory for the gradients of a batch of so many pairs."""
    K, width = parameters.aspects.shape
    return FactorGradients(
        users=np.zeros((samples, width), dtype=np.float32),
        items=np.zeros((samples, width), dtype=np.float32),
        offsets=np.zeros((samples if len(parameters.offsets) else 0, padded(K)), dtype=np.float32),
        aspects=np.zeros((TASKS, K * width), dtype=np.float32),
        objective=np.zeros(TASKS),
    )


@compiled
def new_factor_block(factors: int) -> FactorBlock:
    """Return memory for sixteen pairs."""
    return FactorBlock(
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros((factors, LANES), np.float32),
        np.zeros((factors, LANES), np.float32),
        np.zeros((3 * QUAD, LANES), np.float32),
    )


@compiled
def number_lanes(pairs: Pairs, start: int, block: FactorBlock) -> None:
    """Set number, u, i and j of the pairs from ``start`` on; a skipped pair has 0."""
    for lane in range(LANES):
        pair = start + lane
        block.numbers[lane] = pair
        block.users[lane] = max(pairs.users[pair], 0)
        block.first[lane] = max(pairs.items[pair, 0], 0)
        block.second[lane] = max(pairs.items[pair, 1], 0)


@compiled
def prefetch_factors(pairs: Pairs, start: int, parameters: Parameters) -> None:
    """Ask for the factors of the block of pairs from ``start`` on."""
    for pair in range(start, min(start + LANES, pairs.users.shape[0])):
        prefetch_row(parameters.users, max(pairs.users[pair], 0))
        prefetch_row(parameters.items, max(pairs.items[pair, 0], 0))
        prefetch_row(parameters.items, max(pairs.items[pair, 1], 0))


@compiled
def gather_factors(parameters: Parameters, block: FactorBlock, mean: Float32s) -> None:
    """Set U_u and V_i − V_j of numbered pairs, and b_i − b_j where μ will be."""
    gather(parameters.users, block.users, block.user_factors)
    gather_difference(parameters.items, block, block.item_differences)
    if parameters.offsets.shape[0] > 0:
        gather_difference(parameters.offsets, block, mean)


@compiled
def gather_difference(table: Float32s, block: FactorBlock, out: Float32s) -> None:
    """Set the rows of i minus the rows of j."""
    quads = block.quads
    for column in range(0, table.shape[1], QUAD):
        gather_quads(table, block.first, column, quads, 0)
        gather_quads(table, block.second, column, quads, QUAD)
        for q in range(QUAD):
            store(out, column + q, load(quads, q) - load(quads, QUAD + q))


@compiled
def predict_means(parameters: Parameters, block: FactorBlock, mean: Float32s) -> None:
    """Set μ = (U_u * (V_i − V_j)) Wᵀ, added to the difference of the offsets if there are any."""
    K, factors = parameters.aspects.shape
    has_offsets = parameters.offsets.shape[0] > 0
    for k in range(K):
        predicted = load(mean, k) if has_offsets else spread(0.0)
        for f in range(factors):
            product = load(block.user_factors, f) * load(block.item_differences, f)
            predicted = predicted + parameters.aspects[k, f] * product
        store(mean, k, predicted)


@compiled
def write_gradients(
    parameters: Parameters,
    block: FactorBlock,
    mean_gradient: Float32s,
    by_aspects: Float32s,
    out: FactorGradients,
) -> None:
    """Carry ∂/∂μ of sixteen pairs over to all factors; what is by W is added in ``by_aspects``."""
    _differentiate_products(parameters, block, mean_gradient, by_aspects)
    scatter(out.users, block.numbers, block.item_differences)
    scatter(out.items, block.numbers, block.user_factors)
    if out.offsets.shape[0] > 0:
        scatter(out.offsets, block.numbers, mean_gradient)


@compiled
def _differentiate_products(
    parameters: Parameters, block: FactorBlock, mean_gradient: Float32s, by_aspects: Float32s
) -> None:
    """Carry ∂/∂μ over to U_u, in place of V_i − V_j, to V_i, in place of U_u, and to W."""
    K, factors = parameters.aspects.shape
    for f in range(factors):
        user = load(block.user_factors, f)
        difference = load(block.item_differences, f)
        product = user * difference
        by_product = spread(0.0)
        for k in range(K):
            by_mean = load(mean_gradient, k)
            by_product = by_product + parameters.aspects[k, f] * by_mean
            n = k * factors + f
            store(by_aspects, n, load(by_aspects, n) + by_mean * product)
        store(block.item_differences, f, by_product * difference)
        store(block.user_factors, f, by_product * user)


@compiled
def write_sums(by_aspects: Float32s, objective: Lanes, out: FactorGradients, task: int) -> None:
    """Write what the pairs of a task have added up: the gradient by W, and the objective."""
    for n in range(by_aspects.shape[0]):
        out.aspects[task, n] = sum_of_lanes(load(by_aspects, n))
    out.objective[task] = sum_of_lanes(objective)


@compiled
def mean_objective(objective: Floats, grouping: Grouping) -> float:
    """Return the mean over the samples of a batch of what the tasks have summed."""
    total = 0.0
    for task in range(TASKS):
        total += objective[task]
    drawn = grouping.users.totals[1]
    return total / drawn if drawn > 0 else np.nan


@compiled
def update_factors(arguments: tuple[FactorStep, Grouping, Floats], task: int) -> None:
    """Update U, V, b and W by the gradients of a batch, and note its mean objective."""
    step, grouping, objectives = arguments
    values, squares, settings, gradients = step
    users, items = grouping
    rate, scale, nonnegative = settings.learning_rate, settings.scale, settings.nonnegative
    if task == 0:
        objectives[0] = mean_objective(gradients.objective, grouping)
    how = RowUpdate(rate, scale, settings.user_regularization, nonnegative)
    update_rows(Table(values.users, squares.users), users, gradients.users, how, task)
    how = RowUpdate(rate, scale, settings.item_regularization, nonnegative)
    update_rows(Table(values.items, squares.items), items, gradients.items, how, task)
    if values.offsets.shape[0] > 0:
        how = RowUpdate(rate, scale, settings.offset_regularization, False)
        update_rows(Table(values.offsets, squares.offsets), items, gradients.offsets, how, task)
    if task == TASKS - 1:  # the task with the fewest rows
        how = RowUpdate(rate, scale, settings.aspect_regularization, nonnegative)
        aspects = Table(values.aspects, squares.aspects)
        _update_aspects(aspects, gradients.aspects, how, users.totals[1])


@compiled
def _update_aspects(table: Table, gradients: Float32s, how: RowUpdate, pairs: int) -> None:
    """Update W, which every pair touches, by the sum of what the tasks have summed."""
    aspects, squares = table
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
