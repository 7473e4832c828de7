"""The noise covariance of every user, drawn to the common one by an inverse Wishart prior.

With e_ui ~ N(0, Σ_u) and κ degrees of freedom, the log-prior of Σ_u is, but for a constant,

    −κ/2 (ln|Σ_u| − ln|Σ_e| + tr(Σ_e Σ_u⁻¹) − K)

which is largest at Σ_e. Given the effects, the most likely Σ_u is (κ Σ_e + S_u) / (κ + n_u), where
S_u adds up E[e eᵀ] of the user's n_u rating vectors: with B = Σ_u P_ui, the identity over the
aspects present and the regression for the others,

    E[e eᵀ] = B (ê êᵀ + V_u + V_i) Bᵀ + Σ_u − B Σ_u
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled, spliced
from dmrank.support.arrays import Bools, Float32s, Floats
from dmrank.training.effects.blocks import Patterns, Side
from dmrank.training.effects.own_noise import TASKS, OwnNoise, Posteriors, precision
from dmrank.training.sums import Piece, add_up, for_parts, whole_blocks


class NoisePrior(NamedTuple):
    """Inverse Wishart prior of Σ_u.

    Attributes
    ----------
    centres : float array, 1 or M × K × K
        Σ_e: one for all users, or one for each.
    log_determinants : float array, 1 or M
        ln|Σ_e| of them.
    strengths : float array, M
        κ of each user.
    smallest : float
        The least variance s: n_u rating vectors add −½ s n_u tr Σ_u⁻¹.
    """

    centres: Floats
    log_determinants: Floats
    strengths: Floats
    smallest: float


def noise_prior(centres: Floats, strengths: Floats, smallest: float) -> NoisePrior:
    """Return the prior with these centres."""
    return NoisePrior(centres, np.linalg.slogdet(centres)[1], strengths, smallest)


def update_noise(
    noise: OwnNoise,
    side: Side,
    left: Floats,
    users: Posteriors,
    items: Posteriors,
    patterns: Patterns,
    prior: NoisePrior,
    threads: int | None,
) -> float:
    """Put the most likely Σ_u given the effects in place.

    Parameters
    ----------
    noise : OwnNoise
        Σ_u, which are changed.
    side : Side
        The ratings of each user.
    left, patterns, threads
        See `blocks.update_effects`.
    users, items : Posteriors
        Of the effects.
    prior : NoisePrior
        What Σ_u are drawn to.

    Returns
    -------
    float
        E[ln p(r | effects, Σ_u)] + ln p(Σ_u) of all users, with Σ_u as they were.
    """
    lost = (
        update_noise_parts(piece, noise, side, left, (users, items), patterns, prior, threads)
        for piece in whole_blocks(len(side.pointer) - 1, TASKS)
    )
    return -add_up(float(parts.sum()) for parts in lost) / 2


def update_noise_parts(
    piece: Piece,
    noise: OwnNoise,
    side: Side,
    left: Floats,
    effects: tuple[Posteriors, Posteriors],
    patterns: Patterns,
    prior: NoisePrior,
    threads: int | None,
) -> Floats:
    """Do what `update_noise` does for the users of a piece; return −2 × the sums of its parts."""
    parts = np.zeros(TASKS)
    for_parts(
        lambda part: _noise_range(part, noise, side, left, effects, patterns, prior, parts),
        piece,
        threads,
    )
    return parts


@cached
def _noise_range(
    task: tuple[int, int, int],
    noise: OwnNoise,
    side: Side,
    left: Floats,
    effects: tuple[Posteriors, Posteriors],
    patterns: Patterns,
    prior: NoisePrior,
    parts: Floats,
) -> None:
    """Update the noise of the users of one task."""
    start, stop, number = task
    K = left.shape[1]
    matrices = np.empty((5, K, K))
    moment, S = matrices[3], matrices[4]
    for user in range(start, stop):
        place, end = side.pointer[user], side.pointer[user + 1]
        packed, strength = noise.packed[user], prior.strengths[user]
        drawn_to = user if len(prior.centres) > 1 else 0
        centre, rows = prior.centres[drawn_to], end - place
        away, trace = _distance(packed, centre, matrices)
        parts[number] += strength * (away - prior.log_determinants[drawn_to])
        parts[number] += rows * prior.smallest * trace
        _clear(S)
        while place < end:
            pattern, first = patterns.of_rows[side.rows[place]], place
            _clear(moment)
            while place < end and patterns.of_rows[side.rows[place]] == pattern:
                _add_moment(side, place, user, left, effects, moment)
                place += 1
            present = patterns.present[pattern]
            parts[number] += _add_completed(packed, present, place - first, matrices)
        at = 0
        for j in range(K):
            for k in range(j + 1):
                value = strength * centre[j, k] + S[j, k]
                if j == k:
                    value += rows * prior.smallest
                packed[at] = value / (strength + rows)
                at += 1


@compiled
def _clear(matrix: Floats) -> None:
    # Element by element: an assignment to all at once takes half a second to compile.
    for j in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[j, k] = 0.0


@spliced
def _distance(packed: Float32s, centre: Floats, matrices: Floats) -> tuple[float, float]:
    """Return ln|Σ_u| + tr(Σ_e Σ_u⁻¹) − K, and tr Σ_u⁻¹."""
    inverse, K = matrices[1], len(centre)
    away = precision(packed, np.ones(K, np.bool_), matrices[0], inverse) - K
    trace = 0.0
    for j in range(K):
        trace += inverse[j, j]
        for k in range(K):
            away += centre[j, k] * inverse[j, k]
    return away, trace


@spliced
def _add_moment(
    side: Side,
    place: int,
    user: int,
    left: Floats,
    effects: tuple[Posteriors, Posteriors],
    moment: Floats,
) -> None:
    """Add ê êᵀ + V_u + V_i of one rating vector; what is missing is NaN, and used nowhere."""
    users, items = effects
    row, item, at = side.rows[place], side.others[place], 0
    for j in range(len(moment)):
        e = left[row, j] - users.means[user, j] - items.means[item, j]
        for k in range(j + 1):
            other = left[row, k] - users.means[user, k] - items.means[item, k]
            moment[j, k] += e * other + users.covariances[user, at] + items.covariances[item, at]
            at += 1


@spliced
def _add_completed(packed: Float32s, present: Bools, count: int, matrices: Floats) -> float:
    """Add E[e eᵀ] of rating vectors with the same aspects to S, and return −2 ln p of them."""
    scratch, P, moment, S = matrices[0], matrices[1], matrices[3], matrices[4]
    K, known = len(P), _mirror(moment, present)
    fit = count * (precision(packed, present, scratch, P) + known * math.log(2 * math.pi))
    for j in range(K):
        for k in range(K):
            fit += P[j, k] * moment[j, k]
            if known == K:
                S[j, k] += moment[j, k]
    if known < K:
        _add_regression(packed, count, matrices)
    return fit


@spliced
def _mirror(moment: Floats, present: Bools) -> int:
    """Copy the lower triangle to the upper, 0 for what is missing; return how much is not."""
    known = 0
    for j in range(len(moment)):
        known += present[j]
        for k in range(j + 1):
            if not (present[j] and present[k]):
                moment[j, k] = 0.0
            moment[k, j] = moment[j, k]
    return known


@spliced
def _add_regression(packed: Float32s, count: int, matrices: Floats) -> None:
    """Add B M Bᵀ + n (Σ_u − B Σ_u) to S, where B = Σ_u P."""
    sigma, P, B, moment, S = matrices[0], matrices[1], matrices[2], matrices[3], matrices[4]
    K, at = len(P), 0
    for j in range(K):
        for k in range(j + 1):
            sigma[j, k] = sigma[k, j] = packed[at]
            at += 1
    _multiply(sigma, P, B)
    _multiply(B, moment, P)  # P is no longer needed
    for j in range(K):
        for k in range(K):
            S[j, k] += count * sigma[j, k]
            for m in range(K):
                S[j, k] += P[j, m] * B[k, m] - count * B[j, m] * sigma[m, k]


@compiled
def _multiply(left: Floats, right: Floats, product: Floats) -> None:
    K = len(left)
    for j in range(K):
        for k in range(K):
            element = 0.0
            for m in range(K):
                element += left[j, m] * right[m, k]
            product[j, k] = element
