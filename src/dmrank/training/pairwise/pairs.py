"""From a batch of pairs to the criterion: gather parameters, predict, evaluate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, QUAD, load, spread, store
from dmrank.compiled.transpose import gather, gather_quads, prefetch_row
from dmrank.directional.kernels import (
    Block,
    FamilyConstants,
    Ray,
    drop_aspects,
    factorize,
    follow_ray,
    new_block,
    separate_missing,
    whiten,
    whiten_by_scale,
)
from dmrank.directional.packing import packed
from dmrank.support.arrays import Float32s, Int64s
from dmrank.training.pairwise.sampling import NO_ROW, draw_candidate, find_rows

if TYPE_CHECKING:
    from dmrank.training.data import Parameters, TrainingData
    from dmrank.training.pairwise.sampling import Pairs


IDENTITY, SHARED, PERSONALIZED = range(3)
# Σ_uij of the identity is 2I.
IDENTITY_SCALE = math.sqrt(0.5)


class PairCovariance(NamedTuple):
    """How the covariance Σ_uij of a pair is made.

    Attributes
    ----------
    kind
        `IDENTITY`, `SHARED` or `PERSONALIZED`.
    user_weight
        λ.
    complete
        Whether no aspect is missing anywhere.
    """

    kind: int
    user_weight: float
    complete: bool


class PairBlock(NamedTuple):
    """Sixteen pairs: where they are, their factors, and the scratch memory of the criterion.

    Attributes
    ----------
    numbers, users, first, second
        Row of each lane in the batch, and its u, i and j; a skipped pair has 0.
    user_factors, item_differences
        U_u and V_i − V_j, one row per factor.
    quads
        Twelve rows for what is gathered from three tables.
    criterion
        See `directional.kernels`.
    """

    numbers: Int64s
    users: Int64s
    first: Int64s
    second: Int64s
    user_factors: Float32s
    item_differences: Float32s
    quads: Float32s
    criterion: Block


@compiled
def new_pair_block(parameters: Parameters, family: FamilyConstants) -> PairBlock:
    """Return scratch memory for sixteen pairs."""
    K, factors = parameters.aspects.shape
    return PairBlock(
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros((factors, LANES), np.float32),
        np.zeros((factors, LANES), np.float32),
        np.zeros((3 * QUAD, LANES), np.float32),
        new_block(K, family),
    )


@compiled
def gather_pairs(
    pairs: Pairs,
    start: int,
    parameters: Parameters,
    covariance: PairCovariance,
    family: FamilyConstants,
    block: PairBlock,
) -> None:
    """Fill a block with the pairs from ``start`` on; a skipped pair has d = 0."""
    criterion = block.criterion
    number_lanes(pairs, start, block.numbers, block.users, block.first, block.second)
    gather(pairs.differences, block.numbers, criterion.difference)
    if not covariance.complete:
        separate_missing(criterion, family)
    gather(parameters.users, block.users, block.user_factors)
    first, second, quads = block.first, block.second, block.quads
    gather_difference(parameters.items, first, second, quads, block.item_differences)
    if parameters.offsets.shape[0] > 0:
        gather_difference(parameters.offsets, first, second, quads, criterion.mean)
    if covariance.kind == PERSONALIZED:
        _gather_covariances(parameters, covariance.user_weight, block)
    if covariance.kind == SHARED:
        for n in range(packed(criterion.aspects, 0)):
            store(criterion.covariance, n, spread(2.0 * parameters.user_covariances[0, n]))


@compiled
def number_lanes(
    pairs: Pairs, start: int, numbers: Int64s, users: Int64s, first: Int64s, second: Int64s
) -> None:
    """Set number, u, i and j of the pairs from ``start`` on; a skipped pair has 0."""
    for lane in range(LANES):
        pair = start + lane
        numbers[lane] = pair
        users[lane] = max(pairs.users[pair], 0)
        first[lane] = max(pairs.items[pair, 0], 0)
        second[lane] = max(pairs.items[pair, 1], 0)


@compiled
def prefetch_pairs(
    pairs: Pairs, start: int, parameters: Parameters, covariance: PairCovariance
) -> None:
    """Ask for the parameters of the block of pairs from ``start`` on."""
    for pair in range(start, min(start + LANES, pairs.users.shape[0])):
        user = max(pairs.users[pair], 0)
        prefetch_row(parameters.users, user)
        if covariance.kind == PERSONALIZED:
            prefetch_row(parameters.user_covariances, user)
        for side in range(2):
            item = max(pairs.items[pair, side], 0)
            prefetch_row(parameters.items, item)
            if covariance.kind == PERSONALIZED:
                prefetch_row(parameters.item_covariances, item)


@compiled
def gather_difference(
    table: Float32s, first: Int64s, second: Int64s, quads: Float32s, out: Float32s
) -> None:
    """Set the rows of i minus the rows of j."""
    for column in range(0, table.shape[1], QUAD):
        gather_quads(table, first, column, quads, 0)
        gather_quads(table, second, column, quads, QUAD)
        for q in range(QUAD):
            store(out, column + q, load(quads, q) - load(quads, QUAD + q))


@compiled
def _gather_covariances(parameters: Parameters, user_weight: float, block: PairBlock) -> None:
    """Set Σ_uij = 2λΣ_u + (1−λ)(Σ_i + Σ_j)."""
    quads = block.quads
    by_items = 1.0 - user_weight
    for column in range(0, parameters.user_covariances.shape[1], QUAD):
        gather_quads(parameters.user_covariances, block.users, column, quads, 0)
        gather_quads(parameters.item_covariances, block.first, column, quads, QUAD)
        gather_quads(parameters.item_covariances, block.second, column, quads, 2 * QUAD)
        for q in range(QUAD):
            of_items = load(quads, QUAD + q) + load(quads, 2 * QUAD + q)
            mixed = (2.0 * user_weight) * load(quads, q) + by_items * of_items
            store(block.criterion.covariance, column + q, mixed)


@compiled
def evaluate_pairs(
    parameters: Parameters, covariance: PairCovariance, family: FamilyConstants, block: PairBlock
) -> Ray:
    """Predict the means of gathered pairs and return their rays; d, μ and Σ are whitened."""
    criterion = block.criterion
    predict_means(parameters, block.user_factors, block.item_differences, criterion.mean)
    if covariance.kind == IDENTITY:
        log_determinant = whiten_by_scale(criterion, IDENTITY_SCALE)
    else:
        if not covariance.complete:
            drop_aspects(criterion)
        log_determinant = factorize(criterion)
        whiten(criterion)
    return follow_ray(criterion, family, log_determinant)


@compiled
def predict_means(
    parameters: Parameters, user_factors: Float32s, item_differences: Float32s, mean: Float32s
) -> None:
    """Set μ = (U_u * (V_i − V_j)) Wᵀ, added to the difference of the offsets if there are any."""
    K, factors = parameters.aspects.shape
    has_offsets = parameters.offsets.shape[0] > 0
    for k in range(K):
        predicted = load(mean, k) if has_offsets else spread(0.0)
        for f in range(factors):
            product = load(user_factors, f) * load(item_differences, f)
            predicted = predicted + parameters.aspects[k, f] * product
        store(mean, k, predicted)


@compiled
def choose_hardest(
    data: TrainingData,
    parameters: Parameters,
    candidates: int,
    stream: np.uint64,
    pairs: Pairs,
    start: int,
    end: int,
) -> None:
    """Replace each unrated j by the one of ``candidates`` items with the highest predicted mean.

    The mean is that over all aspects; d stays as it is, for an unrated item counts as rated 0.
    """
    weights = np.zeros(parameters.aspects.shape[1], np.float32)
    for k in range(parameters.aspects.shape[0]):
        for f in range(weights.shape[0]):
            weights[f] += parameters.aspects[k, f]
    drawn = np.empty(candidates - 1, np.int32)
    users = np.empty(candidates - 1, np.int32)
    rows = np.empty(candidates - 1, np.int64)
    for pair in range(start, end):
        user, item = pairs.users[pair], pairs.items[pair, 0]
        if user < 0 or pairs.second_rows[pair] != NO_ROW:
            continue
        for number in range(candidates - 1):
            users[number] = user
            drawn[number] = draw_candidate(data, stream, pair, number, item)
        find_rows(data, users, drawn, rows)
        highest = _predicted_total(parameters, weights, user, pairs.items[pair, 1])
        for number in range(candidates - 1):
            total = _predicted_total(parameters, weights, user, drawn[number])
            if rows[number] == NO_ROW and total > highest:
                highest = total
                pairs.items[pair, 1] = drawn[number]


@compiled
def _predicted_total(parameters: Parameters, weights: Float32s, user: int, item: int) -> float:
    total = 0.0
    for f in range(weights.shape[0]):
        total += weights[f] * parameters.users[user, f] * parameters.items[item, f]
    if parameters.offsets.shape[0] > 0:
        for k in range(parameters.offsets.shape[1]):
            total += parameters.offsets[item, k]
    return total
