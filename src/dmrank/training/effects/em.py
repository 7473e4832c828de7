"""Crossed effects of users and items with full covariances, by mean-field EM.

    r_ui = μ + a_u + b_i + e_ui ,   a_u ~ N(0, Σ_a), b_i ~ N(0, Σ_b), e_ui ~ N(0, Σ_e)

are vectors of K aspects, missing ones marginalised. Crossed effects have no joint posterior in
closed form; given the others, each user's and each item's is a K × K system (see `blocks`). A round
updates all users, all items, then μ and the three covariances from the expected moments, the
posterior variances included; no round lowers the bound of the likelihood.

Users may then have a noise Σ_u of their own (see `noise_update`), drawn to Σ_e: rounds with it hold
μ and Σ_e, so that they do not lower the bound either, which goes on where it was with Σ_u = Σ_e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.data.rows import group_rows
from dmrank.support.arrays import Array, Codes, Float32s, Floats
from dmrank.support.layouts import Kept, floats
from dmrank.training.data import TrainingData
from dmrank.training.effects.blocks import (
    Patterns,
    Side,
    Sums,
    find_patterns,
    precisions,
    update_effects,
)
from dmrank.training.effects.noise_update import noise_prior, update_noise
from dmrank.training.effects.own_noise import (
    OwnNoise,
    Posteriors,
    packed_matrix,
    update_effects_by,
)
from dmrank.training.effects.residuals import sum_residuals

#: The least variance of an effect or of noise, in stars²: ratings may all be equal. It is that of a
#: prior exp(−½ s n tr Σ⁻¹) of each covariance from n effects, which is a part of the bound.
SMALLEST_VARIANCE = 1e-4


class Effects(NamedTuple):
    """What is learned; float64, so that a run can go on with the same bits.

    Attributes
    ----------
    level : float array, 1 × K
        μ.
    users, items : float arrays, M × K and N × K
        Posterior means of a and b.
    user_covariances, item_covariances : float32 arrays
        Posterior covariances of them, packed by rows of the lower triangle.
    user_prior, item_prior, noise : float arrays, K × K
        Σ_a, Σ_b and Σ_e.
    user_noise : float32 array, M × K(K+1)/2
        Σ_u, packed; Σ_e for all before the first round with a noise for each.
    """

    level: Floats
    users: Floats
    items: Floats
    user_covariances: Float32s
    item_covariances: Float32s
    user_prior: Floats
    item_prior: Floats
    noise: Floats
    user_noise: Float32s


def effects_arrays(effects: Effects) -> dict[str, Array]:
    """Return what a model file keeps: items with the level in them, all in single precision."""
    arrays = effects._asdict() | {"items": effects.items + effects.level, "level": effects.level[0]}
    if len(effects.user_noise) == 0:
        del arrays["user_noise"]
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def effects_layout(users: int, items: int, aspects: int) -> dict[str, Kept]:
    """Return what these arrays must be."""
    triangle = aspects * (aspects + 1) // 2
    covariances = dict.fromkeys(("user_prior", "item_prior", "noise"), floats(aspects, aspects))
    return covariances | {
        "level": floats(aspects),
        "users": floats(users, aspects),
        "items": floats(items, aspects),
        "user_covariances": floats(users, triangle),
        "item_covariances": floats(items, triangle),
        "user_noise": floats(users, triangle).maybe(),
    }


class CrossedRatings(NamedTuple):
    """Rating vectors seen from both sides."""

    values: Floats
    codes: tuple[Codes, Codes]
    by_user: Side
    by_item: Side
    patterns: Patterns


def crossed_ratings(data: TrainingData) -> CrossedRatings:
    """Group rating vectors by user and by item, and number them by the aspects they have."""
    rows, pointer = group_rows(data.items, len(data.item_counts))
    own = np.arange(len(data.items))
    return CrossedRatings(
        values=data.values.astype(np.float64),
        codes=(data.row_users, data.items),
        by_user=reading(Side(data.user_ptr, own, data.items)),
        by_item=reading(Side(pointer, rows.astype(np.int64), data.row_users[rows])),
        patterns=find_patterns(data.values),
    )


def initial_effects(data: TrainingData, *, own_noise: bool = True) -> Effects:
    """Start at the mean of each aspect, with a third of its variance for each part.

    Without a noise for each user, `user_noise` has no rows.
    """
    K, observed = data.values.shape[1], ~np.isnan(data.values)
    counts = np.maximum(observed.sum(axis=0), 1)
    level = np.nansum(data.values, axis=0, dtype=np.float64) / counts
    variance = np.nansum(np.square(data.values - level), axis=0, dtype=np.float64) / counts
    third = np.diag(np.maximum(variance / 3, SMALLEST_VARIANCE))
    sizes, packed = (len(data.user_ptr) - 1, len(data.item_counts)), K * (K + 1) // 2
    users, items = (np.zeros((size, K)) for size in sizes)
    of_users, of_items = (np.zeros((size, packed), dtype=np.float32) for size in sizes)
    user_noise = np.tile(packed_matrix(third), (sizes[0] if own_noise else 0, 1))
    priors = third, third.copy(), third.copy()
    return Effects(level[None], users, items, of_users, of_items, *priors, user_noise)


def rounds_of_own_noise(iterations: int, first: int, count: int) -> int:
    """Return how many of some rounds have a noise for each user: the last sixth suffices.

    Examples
    --------
    >>> [rounds_of_own_noise(30, first, 10) for first in (0, 10, 20)]
    [0, 0, 5]
    """
    start = max(iterations - -(-iterations // 6), 1)
    return min(max(first + count - start, 0), count)


def run_rounds(
    ratings: CrossedRatings,
    effects: Effects,
    count: int,
    threads: int | None,
    noise_strength: float | None = None,
) -> Floats:
    """Run rounds of EM in place; return the bound per rating vector after the E-step of each.

    With a strength κ, rounds are those of a noise for each user.
    """
    return np.array(
        [
            _round(ratings, effects, threads)
            if noise_strength is None
            else _round_of_own_noise(ratings, effects, noise_strength, threads)
            for _ in range(count)
        ]
    )


def _round(ratings: CrossedRatings, effects: Effects, threads: int | None) -> float:
    present = ratings.patterns.present
    P = precisions(effects.noise, present)
    left = ratings.values - effects.level
    of_users = update_effects(
        effects.users, effects.user_covariances, ratings.by_user, left, effects.items,
        ratings.patterns, noise=P, prior=_inverse(effects.user_prior), threads=threads,
    )  # fmt: skip
    of_items = update_effects(
        effects.items, effects.item_covariances, ratings.by_item, left, effects.users,
        ratings.patterns, noise=P, prior=_inverse(effects.item_prior), threads=threads,
    )  # fmt: skip
    residuals = sum_residuals(
        left, ratings.codes, (effects.users, effects.items), ratings.patterns, threads
    )
    lower = residuals.outer.sum(axis=0)
    outer = lower + np.tril(lower, -1).transpose(0, 2, 1)
    # Σ (ê êᵀ + V_u + V_i) over the rating vectors of each pattern.
    moments = outer + of_users.spread.sum(axis=0) + of_items.spread.sum(axis=0)
    counts = np.bincount(ratings.patterns.of_rows, minlength=len(present)).astype(np.float64)
    bound = _bound_of_noise(effects, moments, P, counts)
    bound += _bound_of_effects(effects, (of_users, of_items))
    _maximise(effects, (of_users, of_items), moments, residuals.total.sum(axis=0), P, ratings)
    return bound / len(ratings.values)


def _round_of_own_noise(
    ratings: CrossedRatings, effects: Effects, strength: float, threads: int | None
) -> float:
    left = ratings.values - effects.level
    noise = OwnNoise(effects.user_noise, ratings.codes[0])
    users = Posteriors(effects.users, effects.user_covariances)
    items = Posteriors(effects.items, effects.item_covariances)
    sums = (
        update_effects_by(
            noise, users, ratings.by_user, left, effects.items, ratings.patterns,
            prior=_inverse(effects.user_prior)[None], threads=threads,
        ),
        update_effects_by(
            noise, items, ratings.by_item, left, effects.users, ratings.patterns,
            prior=_inverse(effects.item_prior)[None], threads=threads,
        ),
    )  # fmt: skip
    prior = noise_prior(
        effects.noise[None], np.full(len(effects.users), strength), SMALLEST_VARIANCE
    )
    bound = _bound_of_effects(effects, sums)
    bound += update_noise(
        noise, ratings.by_user, left, users, items, ratings.patterns, prior, threads
    )
    _maximise_priors(effects, sums)
    return bound / len(ratings.values)


def _maximise_priors(effects: Effects, sums: tuple[Sums, Sums]) -> None:
    """Set Σ_a and Σ_b to what makes the expected moments most likely."""
    effects.user_prior[...] = _shrunk(sums[0].moment.sum(axis=0), len(effects.users))
    effects.item_prior[...] = _shrunk(sums[1].moment.sum(axis=0), len(effects.items))


def _maximise(
    effects: Effects,
    sums: tuple[Sums, Sums],
    moments: Floats,
    totals: Floats,
    P: Floats,
    ratings: CrossedRatings,
) -> None:
    """Set μ, Σ_a, Σ_b and Σ_e to what makes the expected moments most likely."""
    present = ratings.patterns.present
    counts = np.bincount(ratings.patterns.of_rows, minlength=len(present)).astype(np.float64)
    _maximise_priors(effects, sums)
    # μ: Σ n_p P_p (μ_new − μ) = Σ P_p Σ ê.
    system = np.einsum("p,pjk->jk", counts, P)
    # An aspect that nobody has rated keeps its level.
    system[np.diag_indices(len(system))] += np.diagonal(system) == 0
    step = np.linalg.solve(system, np.einsum("pjk,pk->j", P, totals))
    # The same step changes the residuals: Σ (ê − s)(ê − s)ᵀ = Σ ê êᵀ − s Σêᵀ − Σê sᵀ + n s sᵀ.
    steps = np.where(present, step, 0.0)
    cross = steps[:, :, None] * totals[:, None, :]
    moved = moments - cross - cross.transpose(0, 2, 1)
    moved += counts[:, None, None] * steps[:, :, None] * steps[:, None, :]
    effects.level[...] += step
    effects.noise[...] = _shrunk(_completed(moved, counts, effects.noise, P), counts.sum())
    effects.user_noise[...] = packed_matrix(effects.noise)


def _completed(moments: Floats, counts: Floats, noise: Floats, P: Floats) -> Floats:
    """Return Σ E[e eᵀ], missing aspects by their regression on those present.

    With B = Σ_e P (the identity over present aspects, the regression for the others) it is
    B M Bᵀ + n (Σ_e − Σ_e P Σ_e) for the moments M of each pattern.
    """
    B = noise @ P
    unknown = noise - B @ noise
    known = B @ moments @ B.transpose(0, 2, 1)
    return np.asarray((known + counts[:, None, None] * unknown).sum(axis=0))


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _shrunk(moment: Floats, count: float) -> Floats:
    """Return the mean of moments, positive definite also where nothing varies."""
    return (moment + moment.T) / (2 * count) + SMALLEST_VARIANCE * np.eye(len(moment))


def _penalty(covariance: Floats, count: float) -> float:
    return float(SMALLEST_VARIANCE * count * np.trace(_inverse(covariance)) / 2)


def _bound_of_noise(effects: Effects, moments: Floats, P: Floats, counts: Floats) -> float:
    """Return E[ln p(r | effects, Σ_e)] + ln p(Σ_e), but for a constant."""
    present = P.diagonal(axis1=1, axis2=2) > 0
    sizes = present.sum(axis=1)
    both = present[:, :, None] & present[:, None, :]
    padded = np.where(both, effects.noise, np.eye(len(effects.noise)))
    of_noise = counts @ (np.linalg.slogdet(padded)[1] + sizes * np.log(2 * np.pi))
    total = -(of_noise + np.einsum("pjk,pkj->", P, moments)) / 2
    return float(total) - _penalty(effects.noise, counts.sum())


def _bound_of_effects(effects: Effects, sums: tuple[Sums, Sums]) -> float:
    """Return how far the posteriors of effects are from their priors: what a bound loses by it."""
    total = 0.0
    for part, prior, rows in zip(
        sums, (effects.user_prior, effects.item_prior), (effects.users, effects.items), strict=True
    ):
        K = len(prior)
        moment, determinant = part.moment.sum(axis=0), part.log_determinant.sum()
        fit = np.trace(np.linalg.solve(prior, moment))
        total += (determinant + len(rows) * (K - np.linalg.slogdet(prior)[1]) - fit) / 2
        total -= _penalty(prior, len(rows))
    return float(total)
