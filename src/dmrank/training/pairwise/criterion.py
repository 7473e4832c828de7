"""DMR's criterion on a batch of pairs: gather Σ_uij, evaluate, and differentiate by the factors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, QUAD, load, spread, store
from dmrank.compiled.tasks import TASKS
from dmrank.compiled.transpose import gather, gather_quads, prefetch_row
from dmrank.directional.kernels import (
    Block,
    FamilyConstants,
    Ray,
    differentiate_whitened_mean,
    drop_aspects,
    factorize,
    follow_ray,
    new_block,
    separate_missing,
    unwhiten_mean_gradient,
    whiten,
    whiten_by_scale,
)
from dmrank.directional.packing import packed
from dmrank.training.pairwise.factors import (
    FactorBlock,
    FactorGradients,
    gather_factors,
    new_factor_block,
    number_lanes,
    predict_means,
    prefetch_factors,
    write_gradients,
    write_sums,
)

if TYPE_CHECKING:
    from dmrank.training.pairwise.parameters import Parameters
    from dmrank.training.pairwise.sampling import Pairs

IDENTITY, SHARED, PERSONALIZED = range(3)
# Σ_uij of the identity is 2I.
_IDENTITY_SCALE = math.sqrt(0.5)


class Criterion(NamedTuple):
    """What is evaluated: the family, and how the covariance Σ_uij of a pair is made.

    Attributes
    ----------
    family
        Constants of the family.
    kind
        `IDENTITY`, `SHARED` or `PERSONALIZED`.
    user_weight
        λ.
    complete
        Whether no aspect is missing anywhere.
    """

    family: FamilyConstants
    kind: int
    user_weight: float
    complete: bool


class PairBlock(NamedTuple):
    """Sixteen pairs: their factors, and the scratch memory of `directional.kernels`."""

    factors: FactorBlock
    lanes: Block


@compiled
def new_pair_block(parameters: Parameters, criterion: Criterion) -> PairBlock:
    """Return memory for sixteen pairs."""
    K, factors = parameters.aspects.shape
    return PairBlock(new_factor_block(factors), new_block(K, criterion.family))


@compiled
def prefetch_pairs(pairs: Pairs, start: int, parameters: Parameters, criterion: Criterion) -> None:
    """Ask for the parameters of the block of pairs from ``start`` on."""
    prefetch_factors(pairs, start, parameters)
    if criterion.kind == PERSONALIZED:
        for pair in range(start, min(start + LANES, pairs.users.shape[0])):
            prefetch_row(parameters.user_covariances, max(pairs.users[pair], 0))
            prefetch_row(parameters.item_covariances, max(pairs.items[pair, 0], 0))
            prefetch_row(parameters.item_covariances, max(pairs.items[pair, 1], 0))


@compiled
def gather_pairs(
    pairs: Pairs, start: int, parameters: Parameters, criterion: Criterion, block: PairBlock
) -> None:
    """Fill a block with the pairs from ``start`` on; a skipped pair has d = 0."""
    number_lanes(pairs, start, block.factors)
    gather(pairs.differences, block.factors.numbers, block.lanes.difference)
    if not criterion.complete:
        separate_missing(block.lanes, criterion.family)
    gather_factors(parameters, block.factors, block.lanes.mean)
    if criterion.kind == PERSONALIZED:
        _gather_covariances(parameters, criterion.user_weight, block)
    if criterion.kind == SHARED:
        for n in range(packed(block.lanes.aspects, 0)):
            store(block.lanes.covariance, n, spread(2.0 * parameters.user_covariances[0, n]))


@compiled
def _gather_covariances(parameters: Parameters, user_weight: float, block: PairBlock) -> None:
    """Set Σ_uij = 2λΣ_u + (1−λ)(Σ_i + Σ_j)."""
    where, quads = block.factors, block.factors.quads
    by_items = 1.0 - user_weight
    for column in range(0, parameters.user_covariances.shape[1], QUAD):
        gather_quads(parameters.user_covariances, where.users, column, quads, 0)
        gather_quads(parameters.item_covariances, where.first, column, quads, QUAD)
        gather_quads(parameters.item_covariances, where.second, column, quads, 2 * QUAD)
        for q in range(QUAD):
            of_items = load(quads, QUAD + q) + load(quads, 2 * QUAD + q)
            mixed = (2.0 * user_weight) * load(quads, q) + by_items * of_items
            store(block.lanes.covariance, column + q, mixed)


@compiled
def evaluate_pairs(parameters: Parameters, criterion: Criterion, block: PairBlock) -> Ray:
    """Predict the means of gathered pairs and return their rays; d, μ and Σ are whitened."""
    predict_means(parameters, block.factors, block.lanes.mean)
    if criterion.kind == IDENTITY:
        log_determinant = whiten_by_scale(block.lanes, _IDENTITY_SCALE)
    else:
        if not criterion.complete:
            drop_aspects(block.lanes)
        log_determinant = factorize(block.lanes)
        whiten(block.lanes)
    return follow_ray(block.lanes, criterion.family, log_determinant)


@compiled
def differentiate_factors(
    arguments: tuple[Pairs, Parameters, Criterion, FactorGradients], task: int
) -> None:
    """Compute the gradients by the factors of the pairs of one task out of `TASKS`."""
    pairs, parameters, criterion, out = arguments
    block = new_pair_block(parameters, criterion)
    by_aspects = np.zeros((parameters.aspects.size, LANES), np.float32)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        prefetch_pairs(pairs, start + TASKS * LANES, parameters, criterion)
        gather_pairs(pairs, start, parameters, criterion, block)
        ray = evaluate_pairs(parameters, criterion, block)
        total = total + ray.log_likelihood
        if criterion.kind == IDENTITY:
            differentiate_whitened_mean(block.lanes, ray, _IDENTITY_SCALE)
        else:
            differentiate_whitened_mean(block.lanes, ray, 1.0)
            unwhiten_mean_gradient(block.lanes)
        write_gradients(parameters, block.factors, block.lanes.mean_gradient, by_aspects, out)
    write_sums(by_aspects, total, out, task)
