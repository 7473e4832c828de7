"""The covariance step: gradients of Σ for a batch, and the update of L with Σ = L Lᵀ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, load, spread, store, sum_of_lanes, where_less
from dmrank.compiled.transpose import scatter
from dmrank.directional.kernels import differentiate_covariance, invert_factor
from dmrank.directional.packing import packed
from dmrank.support.arrays import Float32s, Floats
from dmrank.training.pairwise.adagrad import (
    TASKS,
    RowBlock,
    ascend,
    gather_rows,
    new_row_block,
    prefetch_groups,
)
from dmrank.training.pairwise.pairs import (
    PairCovariance,
    evaluate_pairs,
    gather_pairs,
    new_pair_block,
    prefetch_pairs,
)

if TYPE_CHECKING:
    from dmrank.directional.kernels import FamilyConstants
    from dmrank.training.data import Parameters
    from dmrank.training.pairwise.sampling import Groups, Pairs


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


@compiled
def differentiate_covariances(
    pairs: Pairs,
    parameters: Parameters,
    covariance: PairCovariance,
    family: FamilyConstants,
    out: CovarianceGradients,
    task: int,
) -> None:
    """Compute the gradients of the pairs of one task out of `TASKS`."""
    block = new_pair_block(parameters, family)
    total = spread(0.0)
    for start in range(task * LANES, pairs.users.shape[0], TASKS * LANES):
        prefetch_pairs(pairs, start + TASKS * LANES, parameters, covariance)
        gather_pairs(pairs, start, parameters, covariance, family, block)
        ray = evaluate_pairs(parameters, covariance, family, block)
        total = total + ray.log_likelihood
        invert_factor(block.criterion)
        differentiate_covariance(block.criterion, ray)
        scatter(out.pairs, block.numbers, block.criterion.covariance_gradient)
    out.objective[task] = sum_of_lanes(total)


@compiled
def update_roots(
    roots: Float32s,
    squares: Float32s,
    covariances: Float32s,
    groups: Groups,
    gradients: Float32s,
    share: float,
    prior_weights: Float32s,
    how: RootUpdate,
    task: int,
) -> None:
    """Update the L of one task out of `TASKS`, and Σ = L Lᵀ beside them.

    Parameters
    ----------
    roots, squares, covariances
        L, AdaGrad's sums and Σ, one packed row per key.
    groups
        Entries grouped by row.
    gradients
        G, one packed row per pair.
    share
        ∂Σ_uij/∂Σ: 2λ for Σ_u, 1 − λ for Σ_i.
    prior_weights
        Weight of the prior of each row per sampled pair.
    how
        Step size and prior.
    task
        Number of the task.
    """
    block = new_row_block(roots.shape[1])
    work = np.zeros((roots.shape[1], LANES), np.float32)
    for start in range(task * LANES, groups.totals[0], TASKS * LANES):
        for table in (roots, squares, covariances):
            prefetch_groups(table, groups, start + TASKS * LANES)
        gather_rows(roots, squares, groups, gradients, share, share, start, block)
        for lane in range(LANES):
            block.sizes[0, lane] *= prior_weights[block.keys[lane]]
        _differentiate_roots(block, work, how)
        ascend(block, how.learning_rate)
        _rebuild_covariances(block.values, work, how)
        scatter(roots, block.keys, block.values)
        scatter(squares, block.keys, block.squares)
        scatter(covariances, block.keys, work)


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
