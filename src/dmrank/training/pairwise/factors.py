"""The factor step: gradients of U, V, W and the item offsets for a batch of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, load, spread, store, sum_of_lanes
from dmrank.compiled.transpose import scatter
from dmrank.directional.kernels import differentiate_whitened_mean, unwhiten_mean_gradient
from dmrank.support.arrays import Float32s, Floats
from dmrank.training.pairwise.adagrad import TASKS
from dmrank.training.pairwise.pairs import (
    IDENTITY,
    IDENTITY_SCALE,
    PairCovariance,
    evaluate_pairs,
    gather_pairs,
    new_pair_block,
    prefetch_pairs,
)

if TYPE_CHECKING:
    from dmrank.directional.kernels import FamilyConstants
    from dmrank.training.data import Parameters
    from dmrank.training.pairwise.sampling import Pairs


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
        Log-likelihood, summed over the pairs of each task.
    """

    users: Float32s
    items: Float32s
    offsets: Float32s
    aspects: Float32s
    objective: Floats


@compiled
def differentiate_factors(
    pairs: Pairs,
    parameters: Parameters,
    covariance: PairCovariance,
    family: FamilyConstants,
    out: FactorGradients,
    task: int,
) -> None:
    """Compute the gradients of the pairs of one task out of `TASKS`."""
    K, factors = parameters.aspects.shape
    block = new_pair_block(parameters, family)
    by_aspects = np.zeros((K * factors, LANES), np.float32)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        prefetch_pairs(pairs, start + TASKS * LANES, parameters, covariance)
        gather_pairs(pairs, start, parameters, covariance, family, block)
        ray = evaluate_pairs(parameters, covariance, family, block)
        total = total + ray.log_likelihood
        if covariance.kind == IDENTITY:
            differentiate_whitened_mean(block.criterion, ray, IDENTITY_SCALE)
        else:
            differentiate_whitened_mean(block.criterion, ray, 1.0)
            unwhiten_mean_gradient(block.criterion)
        differentiate_products(
            parameters,
            block.user_factors,
            block.item_differences,
            block.criterion.mean_gradient,
            by_aspects,
        )
        scatter(out.users, block.numbers, block.item_differences)
        scatter(out.items, block.numbers, block.user_factors)
        if out.offsets.shape[0] > 0:
            scatter(out.offsets, block.numbers, block.criterion.mean_gradient)
    for n in range(K * factors):
        out.aspects[task, n] = sum_of_lanes(load(by_aspects, n))
    out.objective[task] = sum_of_lanes(total)


@compiled
def differentiate_products(
    parameters: Parameters,
    user_factors: Float32s,
    item_differences: Float32s,
    mean_gradient: Float32s,
    by_aspects: Float32s,
) -> None:
    """Carry ∂/∂μ over to U_u, in place of V_i − V_j, to V_i, in place of U_u, and to W."""
    K, factors = parameters.aspects.shape
    for f in range(factors):
        user = load(user_factors, f)
        difference = load(item_differences, f)
        product = user * difference
        by_product = spread(0.0)
        for k in range(K):
            by_mean = load(mean_gradient, k)
            by_product = by_product + parameters.aspects[k, f] * by_mean
            n = k * factors + f
            store(by_aspects, n, load(by_aspects, n) + by_mean * product)
        store(item_differences, f, by_product * difference)
        store(user_factors, f, by_product * user)
