"""The covariance step: gradients of Σ for a batch, and the update of L with Σ = L Lᵀ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, load, spread, store, sum_of_lanes, where_less
from dmrank.compiled.tasks import TASKS
from dmrank.compiled.transpose import padded, scatter
from dmrank.directional.kernels import differentiate_covariance, invert_factor
from dmrank.directional.packing import packed
from dmrank.support.arrays import Float32s, Floats
from dmrank.training.pairwise.adagrad import (
    PairGradients,
    RowBlock,
    Table,
    ascend,
    gather_rows,
    new_row_block,
    prefetch_groups,
)
from dmrank.training.pairwise.criterion import (
    PERSONALIZED,
    Criterion,
    evaluate_pairs,
    gather_pairs,
    new_pair_block,
    prefetch_pairs,
)
from dmrank.training.pairwise.factors import mean_objective

if TYPE_CHECKING:
    from dmrank.training.pairwise.grouping import Grouping, Groups
    from dmrank.training.pairwise.parameters import Accumulators, Parameters
    from dmrank.training.pairwise.sampling import Pairs


class CovarianceGradients(NamedTuple):
    """Gradients of a batch for its covariance step.

    Attributes
    ----------
    pairs
        G = ∂/∂Σ_uij, packed, one row per pair.
    objective
        Log-likelihood, summed over the pairs of each task.
    """

    pairs: Float32s
    objective: Floats


class RootUpdate(NamedTuple):
    """How the factors L are updated.

    Attributes
    ----------
    learning_rate
        Step size of AdaGrad.
    scale
        Factor of every gradient: 1/batch size.
    aspects
        K.
    prior_root
        The Cholesky factor of Ψ, packed.
    prior_strength
        ν + K + 1.
    smallest_diagonal
        L_kk never falls below its element k, so that Σ stays positive definite.
    """

    learning_rate: float
    scale: float
    aspects: int
    prior_root: Float32s
    prior_strength: float
    smallest_diagonal: Float32s


class PriorWeights(NamedTuple):
    """Weights of the priors of Σ_u and Σ_i per sampled pair."""

    users: Float32s
    items: Float32s


class CovarianceStep(NamedTuple):
    """What a covariance step changes, by which gradients and how."""

    parameters: Parameters
    squares: Accumulators
    how: RootUpdate
    weights: PriorWeights
    gradients: CovarianceGradients


class Roots(NamedTuple):
    """L with AdaGrad's sums, Σ = L Lᵀ beside it, and the weight of each row's prior; packed.

    ``share`` is ∂Σ_uij/∂Σ: 2λ for Σ_u, 1 − λ for Σ_i.
    """

    table: Table
    covariances: Float32s
    prior_weights: Float32s
    share: float


def empty_covariance_gradients(aspects: int, samples: int) -> CovarianceGradients:
    """Return memory for the gradients of a batch of so many pairs."""
    width = padded(packed(aspects, 0))
    return CovarianceGradients(np.zeros((samples, width), dtype=np.float32), np.zeros(TASKS))


@compiled
def differentiate_covariances(
    arguments: tuple[Pairs, Parameters, Criterion, CovarianceGradients], task: int
) -> None:
    """Compute the gradients by Σ_uij of the pairs of one task out of `TASKS`."""
    pairs, parameters, criterion, out = arguments
    block = new_pair_block(parameters, criterion)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        prefetch_pairs(pairs, start + TASKS * LANES, parameters, criterion)
        gather_pairs(pairs, start, parameters, criterion, block)
        ray = evaluate_pairs(parameters, criterion, block)
        total = total + ray.log_likelihood
        invert_factor(block.lanes)
        differentiate_covariance(block.lanes, ray)
        scatter(out.pairs, block.factors.numbers, block.lanes.covariance_gradient)
    out.objective[task] = sum_of_lanes(total)


@compiled
def update_covariances(
    arguments: tuple[CovarianceStep, Criterion, Grouping, Floats], task: int
) -> None:
    """Update L and Σ of users and items by a batch, and note its mean objective."""
    step, criterion, grouping, objectives = arguments
    values, squares, how, weights, gradients = step
    if task == 0:
        objectives[1] = mean_objective(gradients.objective, grouping)
    share = 2.0 * criterion.user_weight
    table = Table(values.user_roots, squares.user_roots)
    of_users = Roots(table, values.user_covariances, weights.users, share)
    _update_roots(of_users, grouping.users, gradients.pairs, how, task)
    if criterion.kind == PERSONALIZED:
        share = 1.0 - criterion.user_weight
        table = Table(values.item_roots, squares.item_roots)
        of_items = Roots(table, values.item_covariances, weights.items, share)
        _update_roots(of_items, grouping.items, gradients.pairs, how, task)


@compiled
def _update_roots(
    roots: Roots, groups: Groups, pair_gradients: Float32s, how: RootUpdate, task: int
) -> None:
    """Update the L of one task out of `TASKS`, and Σ = L Lᵀ beside them."""
    values, squares = roots.table
    block = new_row_block(values.shape[1])
    work = np.zeros((values.shape[1], LANES), np.float32)
    gradients = PairGradients(pair_gradients, roots.share, roots.share)
    for start in range(task * LANES, groups.totals[0], TASKS * LANES):
        for rows in (values, squares, roots.covariances):
            prefetch_groups(rows, groups, start + TASKS * LANES)
        gather_rows(roots.table, groups, gradients, start, block)
        for lane in range(LANES):
            block.sizes[0, lane] *= roots.prior_weights[block.keys[lane]]
        _differentiate_roots(block, work, how)
        ascend(block, how.learning_rate)
        _rebuild_covariances(block.values, work, how)
        scatter(values, block.keys, block.values)
        scatter(squares, block.keys, block.squares)
        scatter(roots.covariances, block.keys, work)


@compiled
def _differentiate_roots(block: RowBlock, work: Float32s, how: RootUpdate) -> None:
    """Turn G into the gradient by L: the lower triangle of 2GL and of the prior's gradient."""
    K, root, G = how.aspects, block.values, block.gradients
    _differentiate_prior(root, work, how)
    prior_weight = load(block.sizes, 0)
    for i in range(K):
        for j in range(i + 1):
            element = spread(0.0)
            for k in range(j, i):
                element = element + load(G, packed(i, k)) * load(root, packed(k, j))
            for k in range(i, K):
                element = element + load(G, packed(k, i)) * load(root, packed(k, j))
            prior = prior_weight * load(work, packed(i, j))
            store(work, packed(i, j), how.scale * (2.0 * element + prior))
    for n in range(packed(K, 0)):
        store(G, n, load(work, n))


@compiled
def _differentiate_prior(root: Float32s, out: Float32s, how: RootUpdate) -> None:
    """Set the lower triangle of the gradient of the inverse-Wishart log-prior by L.

    It is −(ν+K+1) ln|L| − ½‖M‖² with M = L⁻¹R and Ψ = R Rᵀ, its gradient L⁻ᵀ M Mᵀ − (ν+K+1) L⁻ᵀ;
    the lower triangle of L⁻ᵀ is its diagonal.
    """
    K = how.aspects
    for i in range(K):  # M = L⁻¹R
        inverse = 1.0 / load(root, packed(i, i))
        for j in range(i + 1):
            element = spread(how.prior_root[packed(i, j)])
            for k in range(j, i):
                element = element - load(root, packed(i, k)) * load(out, packed(k, j))
            store(out, packed(i, j), element * inverse)
    for i in range(K - 1, -1, -1):  # M Mᵀ: backwards, what is overwritten is not needed again
        for j in range(i, -1, -1):
            element = spread(0.0)
            for k in range(j + 1):
                element = element + load(out, packed(i, k)) * load(out, packed(j, k))
            store(out, packed(i, j), element)
    for i in range(K - 1, -1, -1):  # L⁻ᵀ M Mᵀ
        inverse = 1.0 / load(root, packed(i, i))
        for j in range(i + 1):
            element = load(out, packed(i, j))
            for k in range(i + 1, K):
                element = element - load(root, packed(k, i)) * load(out, packed(k, j))
            store(out, packed(i, j), element * inverse)
    for i in range(K):
        pull = how.prior_strength / load(root, packed(i, i))
        store(out, packed(i, i), load(out, packed(i, i)) - pull)


@compiled
def _rebuild_covariances(root: Float32s, covariance: Float32s, how: RootUpdate) -> None:
    """Keep the diagonal of L above its limit and set Σ = L Lᵀ."""
    for i in range(how.aspects):
        diagonal = load(root, packed(i, i))
        limit = how.smallest_diagonal[i]
        store(root, packed(i, i), where_less(diagonal, limit, limit, diagonal))
        for j in range(i + 1):
            element = spread(0.0)
            for k in range(j + 1):
                element = element + load(root, packed(i, k)) * load(root, packed(j, k))
            store(covariance, packed(i, j), element)
