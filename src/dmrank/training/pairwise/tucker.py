"""A non-negative Tucker decomposition: gradients by ratings and by the order of one aspect.

r̂_uik = Σ_abc G_abc U_ua V_ib F_kc = U_u H_k V_iᵀ with the slices H_k = Σ_c G_··c F_kc, which are
kept beside G and F: a rating then costs a × b operations, not a × b × c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import (
    LANES,
    Lanes,
    load,
    spread,
    store,
    sum_of_lanes,
    where_less,
)
from dmrank.compiled.tasks import TASKS
from dmrank.compiled.transpose import gather, scatter
from dmrank.support.arrays import Float32s, Floats, Int32s, Int64s
from dmrank.training.pairwise.adagrad import Table, ascended
from dmrank.training.pairwise.factors import (
    FactorBlock,
    gather_difference,
    new_factor_block,
    number_lanes,
)
from dmrank.training.pairwise.logistic import logistic_loss, logistic_slope, sign_of

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.pairwise.sampling import Pairs


class TuckerParameters(NamedTuple):
    """What is learned, or AdaGrad's sums of squared gradients of it; float32.

    Attributes
    ----------
    users, items
        U and V, rows padded with zeros to whole quads.
    aspects
        F, one row per aspect.
    core
        G, padded like U and V.
    """

    users: Float32s
    items: Float32s
    aspects: Float32s
    core: Float32s


class TuckerSettings(NamedTuple):
    """How parameters are updated.

    Attributes
    ----------
    learning_rate
        Initial step size of AdaGrad.
    scale
        Factor of every gradient: 1/batch size.
    regularization
        Weight of −½‖·‖² per sample.
    ranking_weight
        w.
    primary
        Column of the aspect o whose order is learned.
    """

    learning_rate: float
    scale: float
    regularization: float
    ranking_weight: float
    primary: int


class SampledRows(NamedTuple):
    """Training rows: number, user and item of each; −1 beyond the batch."""

    numbers: Int64s
    users: Int32s
    items: Int32s


class TuckerGradients(NamedTuple):
    """Gradients of a batch.

    Attributes
    ----------
    users, items
        By U_u and V_i, one row per sample; by V_j of a pair it is minus that by V_i.
    slices
        By H, summed over the samples of each task.
    objective
        Summed over the samples of each task.
    """

    users: Float32s
    items: Float32s
    slices: Float32s
    objective: Floats


class TuckerStep(NamedTuple):
    """What a step changes, by which gradients and how; H is kept beside G and F."""

    parameters: TuckerParameters
    squares: TuckerParameters
    slices: Float32s
    settings: TuckerSettings
    gradients: TuckerGradients


class _Block(NamedTuple):
    """Sixteen samples: their factors, errors, and the gradients by the factors.

    ``item_differences`` of the factors is V_i of a rating and V_i − V_j of a pair.
    """

    factors: FactorBlock
    error: Float32s
    by_user: Float32s
    by_item: Float32s


@compiled
def _new_block(width: int) -> _Block:
    return _Block(
        new_factor_block(width),
        np.zeros((1, LANES), np.float32),
        np.zeros((width, LANES), np.float32),
        np.zeros((width, LANES), np.float32),
    )


@compiled
def slice_core(parameters: TuckerParameters, slices: Float32s) -> None:
    """Set H_k = Σ_c G_··c F_kc."""
    a_end, b_end, c_end = parameters.core.shape
    for k in range(slices.shape[0]):
        for a in range(a_end):
            for b in range(b_end):
                total = np.float32(0.0)
                for c in range(c_end):
                    total += parameters.core[a, b, c] * parameters.aspects[k, c]
                slices[k, a, b] = total


@compiled
def _predict(block: _Block, H: Float32s, k: int) -> Lanes:
    """Return U H_k Vᵀ."""
    width = H.shape[1]
    predicted = spread(0.0)
    for a in range(width):
        seen_by_user = spread(0.0)
        for b in range(width):
            seen_by_user = seen_by_user + H[k, a, b] * load(block.factors.item_differences, b)
        predicted = predicted + load(block.factors.user_factors, a) * seen_by_user
    return predicted


@compiled
def _add_factor_gradients(block: _Block, H: Float32s, k: int, error: Lanes) -> None:
    """Add error × ∂r̂_k by U and by V."""
    width = H.shape[1]
    for a in range(width):
        seen_by_user = spread(0.0)
        seen_by_item = spread(0.0)
        for b in range(width):
            seen_by_user = seen_by_user + H[k, a, b] * load(block.factors.item_differences, b)
            seen_by_item = seen_by_item + H[k, b, a] * load(block.factors.user_factors, b)
        store(block.by_user, a, load(block.by_user, a) + error * seen_by_user)
        store(block.by_item, a, load(block.by_item, a) + error * seen_by_item)


@compiled
def _add_slice_gradients(block: _Block, by_slice: Float32s) -> None:
    """Add error × ∂r̂_k by H_k = U_a V_b of all samples, in their order."""
    width = by_slice.shape[0]
    item = np.empty(width, np.float32)
    for lane in range(LANES):
        error = block.error[0, lane]
        for b in range(width):
            item[b] = error * block.factors.item_differences[b, lane]
        for a in range(width):
            user = block.factors.user_factors[a, lane]
            for b in range(width):
                by_slice[a, b] += user * item[b]


@compiled
def _clear(block: _Block) -> None:
    for n in range(block.by_user.shape[0]):
        store(block.by_user, n, spread(0.0))
        store(block.by_item, n, spread(0.0))


@compiled
def differentiate_ratings(
    arguments: tuple[TrainingData, SampledRows, TuckerStep], task: int
) -> None:
    """Differentiate −½ Σ_k (r_uik − r̂_uik)², k known, for the rows of one task out of `TASKS`."""
    data, rows, step = arguments
    H, out = step.slices, step.gradients
    block = _new_block(H.shape[1])
    out.slices[task] = 0.0
    total = spread(0.0)
    for start in range(task * LANES, rows.users.shape[0], TASKS * LANES):
        _gather_row_factors(rows, start, step.parameters, block)
        for k in range(H.shape[0]):
            for lane in range(LANES):
                row = rows.numbers[start + lane]
                block.error[0, lane] = data.values[row, k] if row >= 0 else np.float32(np.nan)
            error = load(block.error, 0) - _predict(block, H, k)
            # The error of a missing rating (NaN) is 0.
            error = where_less(error, np.inf, error, 0.0)
            store(block.error, 0, error)
            total = total - 0.5 * error * error
            _add_factor_gradients(block, H, k, error)
            _add_slice_gradients(block, out.slices[task, k])
        _write_gradients(block, out)
    out.objective[task] = sum_of_lanes(total)


@compiled
def differentiate_order(arguments: tuple[Pairs, TuckerStep], task: int) -> None:
    """Differentiate w ln σ(sign(r_uio − r_ujo)(r̂_uio − r̂_ujo)) for the pairs of one task."""
    pairs, step = arguments
    H, out = step.slices, step.gradients
    block = _new_block(H.shape[1])
    o, weight = step.settings.primary, step.settings.ranking_weight
    out.slices[task, o] = 0.0
    differences = np.zeros((pairs.differences.shape[1], LANES), np.float32)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        number_lanes(pairs, start, block.factors)
        gather(pairs.differences, block.factors.numbers, differences)
        _gather_pair_factors(step.parameters, block)
        sign = sign_of(load(differences, 0))
        x = sign * _predict(block, H, o)
        total = total - weight * sign * sign * logistic_loss(x)
        error = weight * sign * logistic_slope(x)
        store(block.error, 0, error)
        _add_factor_gradients(block, H, o, error)
        _add_slice_gradients(block, out.slices[task, o])
        _write_gradients(block, out)
    out.objective[task] = sum_of_lanes(total)


@compiled
def _gather_row_factors(
    rows: SampledRows, start: int, parameters: TuckerParameters, block: _Block
) -> None:
    """Set U_u and V_i of the rows from ``start`` on; beyond the batch those of row 0."""
    factors = block.factors
    for lane in range(LANES):
        factors.numbers[lane] = start + lane
        factors.users[lane] = max(rows.users[start + lane], 0)
        factors.first[lane] = max(rows.items[start + lane], 0)
    gather(parameters.users, factors.users, factors.user_factors)
    gather(parameters.items, factors.first, factors.item_differences)
    _clear(block)


@compiled
def _gather_pair_factors(parameters: TuckerParameters, block: _Block) -> None:
    """Set U_u and V_i − V_j of numbered pairs."""
    factors = block.factors
    gather(parameters.users, factors.users, factors.user_factors)
    gather_difference(parameters.items, factors, factors.item_differences)
    _clear(block)


@compiled
def _write_gradients(block: _Block, out: TuckerGradients) -> None:
    scatter(out.users, block.factors.numbers, block.by_user)
    scatter(out.items, block.factors.numbers, block.by_item)


@compiled
def update_core(step: TuckerStep, first_aspect: int, end_aspect: int, samples: int) -> None:
    """Update G and the rows of F from ``first_aspect`` to ``end_aspect``, and then H.

    ∂/∂F_kc = Σ_ab G_abc ∂/∂H_kab and ∂/∂G_abc = Σ_k F_kc ∂/∂H_kab.
    """
    width, _, c_end = step.parameters.core.shape
    core = step.parameters.core.reshape(width * width, c_end)
    aspects = step.parameters.aspects[first_aspect:end_aspect]
    by_aspects = np.zeros(aspects.shape, np.float32)
    by_core = np.zeros(core.shape, np.float32)
    for k in range(aspects.shape[0]):
        by_slice = np.zeros((width, width), np.float32)
        for task in range(TASKS):
            by_slice += step.gradients.slices[task, first_aspect + k]
        for n in range(width * width):
            gradient = by_slice[n // width, n % width]
            for c in range(c_end):
                by_aspects[k, c] += gradient * core[n, c]
                by_core[n, c] += gradient * aspects[k, c]
    of_aspects = Table(aspects, step.squares.aspects[first_aspect:end_aspect])
    _ascend_table(of_aspects, by_aspects, step.settings, samples)
    of_core = Table(core, step.squares.core.reshape(width * width, c_end))
    _ascend_table(of_core, by_core, step.settings, samples)
    slice_core(step.parameters, step.slices)


@compiled
def _ascend_table(
    table: Table, gradients: Float32s, settings: TuckerSettings, samples: int
) -> None:
    values, squares = table
    decay = np.float32(settings.regularization * samples)
    for n in range(values.shape[0]):
        for c in range(values.shape[1]):
            gradient = np.float32(settings.scale) * (gradients[n, c] - decay * values[n, c])
            value, squares[n, c] = ascended(
                values[n, c], squares[n, c], gradient, settings.learning_rate
            )
            values[n, c] = max(value, np.float32(0.0))
