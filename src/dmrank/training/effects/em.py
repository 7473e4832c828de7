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

from typing import NamedTuple, Protocol

import numpy as np

from dmrank.support.arrays import Array, Bools, Float32s, Floats
from dmrank.support.layouts import Kept, floats
from dmrank.training.data import RowValues
from dmrank.training.effects.blocks import (
    Sums,
    precisions,
)
from dmrank.training.effects.noise_update import NoisePrior, noise_prior
from dmrank.training.effects.own_noise import (
    packed_matrix,
)
from dmrank.training.effects.residuals import Residuals
from dmrank.training.sums import add_up, blocks_of

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
    # Without a noise of their own, or where they are kept elsewhere, users have no rows.
    return {name: array.astype(np.float32) for name, array in arrays.items() if len(array)}


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


def initial_effects(values: RowValues, users: int, items: int, *, own_noise: bool) -> Effects:
    """Start at the mean of each aspect, with a third of its variance for each part.

    Parameters
    ----------
    values : float32 array, n × K
        Ratings on the training scale, or what makes them when they are asked for.
    users, items : int
        How many there are; no users: theirs are kept elsewhere.
    own_noise : bool
        Whether users get a noise of their own; without, `user_noise` has no rows.
    """
    blocks = blocks_of(len(values))
    counts = np.maximum(add_up((~np.isnan(values[rows])).sum(axis=0) for rows in blocks), 1)
    level = add_up(np.nansum(values[rows], axis=0, dtype=np.float64) for rows in blocks) / counts
    squares = add_up(
        np.nansum(np.square(values[rows] - level), axis=0, dtype=np.float64) for rows in blocks
    )
    third = np.diag(np.maximum(squares / counts / 3, SMALLEST_VARIANCE))
    K = len(level)
    packed = K * (K + 1) // 2
    of_users, of_items = (np.zeros((size, packed), dtype=np.float32) for size in (users, items))
    user_noise = np.tile(packed_matrix(third), (users if own_noise else 0, 1))
    means = np.zeros((users, K)), np.zeros((items, K))
    priors = third, third.copy(), third.copy()
    return Effects(level[None], *means, of_users, of_items, *priors, user_noise)


def rounds_of_own_noise(iterations: int, first: int, count: int) -> int:
    """Return how many of some rounds have a noise for each user: the last sixth suffices.

    Examples
    --------
    >>> [rounds_of_own_noise(30, first, 10) for first in (0, 10, 20)]
    [0, 0, 5]
    """
    start = max(iterations - -(-iterations // 6), 1)
    return min(max(first + count - start, 0), count)


class Passes(Protocol):
    """One pass over all users, items or ratings each: here, or wherever workers are.

    Attributes
    ----------
    present : bool array, patterns × K
        The patterns of aspects that ratings have.
    counts : float array, patterns
        How many rating vectors have each.
    users : int
        Number of users.
    """

    present: Bools
    counts: Floats
    users: int

    def update_users(self, effects: Effects, P: Floats) -> Sums:
        """Put the posteriors of all users in place."""

    def update_items(self, effects: Effects, P: Floats) -> Sums:
        """Put the posteriors of all items in place."""

    def sum_residuals(self, effects: Effects) -> Residuals:
        """Add up what no effect explains."""

    def update_users_by(self, effects: Effects) -> Sums:
        """Do what `update_users` does, where users have a noise of their own."""

    def update_items_by(self, effects: Effects) -> Sums:
        """Do what `update_items` does, where users have a noise of their own."""

    def update_noise(self, effects: Effects, strength: float) -> float:
        """Put the noise of all users in place; return what is expected of ratings by the old."""


def prior_of_noise(effects: Effects, strength: float, users: int) -> NoisePrior:
    """Return what draws the noise of users to that of all ratings."""
    return noise_prior(effects.noise[None], np.full(users, strength), SMALLEST_VARIANCE)


def run_rounds(
    passes: Passes, effects: Effects, count: int, noise_strength: float | None = None
) -> Floats:
    """Run rounds of EM in place; return the bound per rating vector after the E-step of each.

    With a strength κ, rounds are those of a noise for each user.
    """
    return np.array(
        [
            _round(passes, effects)
            if noise_strength is None
            else _round_of_own_noise(passes, effects, noise_strength)
            for _ in range(count)
        ]
    )


def _round(passes: Passes, effects: Effects) -> float:
    P = precisions(effects.noise, passes.present)
    sums = passes.update_users(effects, P), passes.update_items(effects, P)
    residuals = passes.sum_residuals(effects)
    lower = residuals.outer
    outer = lower + np.tril(lower, -1).transpose(0, 2, 1)
    # Σ (ê êᵀ + V_u + V_i) over the rating vectors of each pattern.
    moments = outer + sums[0].spread + sums[1].spread
    bound = _bound_of_noise(effects, moments, P, passes.counts)
    bound += _bound_of_effects(effects, sums, passes.users)
    _maximise_priors(effects, sums, passes.users)
    _maximise(effects, moments, residuals.total, P, passes)
    return bound / passes.counts.sum()


def _round_of_own_noise(passes: Passes, effects: Effects, strength: float) -> float:
    sums = passes.update_users_by(effects), passes.update_items_by(effects)
    bound = _bound_of_effects(effects, sums, passes.users)
    bound += passes.update_noise(effects, strength)
    _maximise_priors(effects, sums, passes.users)
    return bound / passes.counts.sum()


def _maximise_priors(effects: Effects, sums: tuple[Sums, Sums], users: int) -> None:
    """Set Σ_a and Σ_b to what makes the expected moments most likely."""
    effects.user_prior[...] = _shrunk(sums[0].moment, users)
    effects.item_prior[...] = _shrunk(sums[1].moment, len(effects.items))


def _maximise(effects: Effects, moments: Floats, totals: Floats, P: Floats, passes: Passes) -> None:
    """Set μ and Σ_e to what makes the expected moments most likely."""
    present, counts = passes.present, passes.counts
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


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of a covariance."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _shrunk(moment: Floats, count: float) -> Floats:
    """Return the mean of moments, positive definite also where nothing varies."""
    return (moment + moment.T) / (2 * count) + SMALLEST_VARIANCE * np.eye(len(moment))


def _penalty(covariance: Floats, count: float) -> float:
    return float(SMALLEST_VARIANCE * count * np.trace(inverse(covariance)) / 2)


def _bound_of_noise(effects: Effects, moments: Floats, P: Floats, counts: Floats) -> float:
    """Return E[ln p(r | effects, Σ_e)] + ln p(Σ_e), but for a constant."""
    present = P.diagonal(axis1=1, axis2=2) > 0
    sizes = present.sum(axis=1)
    both = present[:, :, None] & present[:, None, :]
    padded = np.where(both, effects.noise, np.eye(len(effects.noise)))
    of_noise = counts @ (np.linalg.slogdet(padded)[1] + sizes * np.log(2 * np.pi))
    total = -(of_noise + np.einsum("pjk,pkj->", P, moments)) / 2
    return float(total) - _penalty(effects.noise, counts.sum())


def _bound_of_effects(effects: Effects, sums: tuple[Sums, Sums], users: int) -> float:
    """Return how far the posteriors of effects are from their priors: what a bound loses by it."""
    total, sizes = 0.0, (users, len(effects.items))
    for part, prior, size in zip(
        sums, (effects.user_prior, effects.item_prior), sizes, strict=True
    ):
        K = len(prior)
        moment, determinant = part.moment, part.log_determinant
        fit = np.trace(np.linalg.solve(prior, moment))
        total += (determinant + size * (K - np.linalg.slogdet(prior)[1]) - fit) / 2
        total -= _penalty(prior, size)
    return float(total)
