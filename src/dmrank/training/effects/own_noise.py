"""A covariance of noise for every user, drawn to the common one by an inverse Wishart prior.

With e_ui ~ N(0, Σ_u) and κ degrees of freedom, the log-prior of Σ_u is, but for a constant,

    −κ/2 (ln|Σ_u| − ln|Σ_e| + tr(Σ_e Σ_u⁻¹) − K)

which is largest at Σ_e. Given the effects, the most likely Σ_u is (κ Σ_e + S_u) / (κ + n_u), where
S_u adds up E[e eᵀ] of the user's n_u rating vectors: with B = Σ_u P_ui, the identity over the
aspects present and the regression for the others,

    E[e eᵀ] = B (ê êᵀ + V_u + V_i) Bᵀ + Σ_u − B Σ_u

Matrices of users are packed, K(K+1)/2 numbers each. What they become over the aspects of a rating is
worked out when it is needed, once for all ratings in a row with the same user and aspects: to keep
it would take K² numbers a rating.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Bools, Codes, Float32s, Floats
from dmrank.training.effects.blocks import Patterns, Side, Sums, invert, keep_posterior

#: Parts that sums are taken in, whatever the number of threads.
_TASKS = 64


class OwnNoise(NamedTuple):
    """The noise of every user, and who the user of a rating is.

    Attributes
    ----------
    packed : float32 array, M × K(K+1)/2
        Σ_u by rows of its lower triangle.
    row_users : int array, n
        The user of each row of the training data.
    """

    packed: Float32s
    row_users: Codes


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


class Posteriors(NamedTuple):
    """Posterior means and packed covariances of the effects of users (or items)."""

    means: Floats
    covariances: Float32s


def update_effects_by(
    noise: OwnNoise,
    own: Posteriors,
    side: Side,
    left: Floats,
    other_effects: Floats,
    patterns: Patterns,
    *,
    prior: Floats,
    threads: int | None,
) -> Sums:
    """Do what `blocks.update_effects` does, with the noise of each rating's user.

    `spread` of the sums stays empty: `update_noise` reads the covariances themselves.
    """
    size, K = own.means.shape
    sums = Sums(np.zeros((_TASKS, K, K)), np.zeros((_TASKS, 0, K, K)), np.zeros(_TASKS))
    per_task = -(-size // _TASKS)
    for_ranges(
        lambda start, stop: _update_range(
            (start, stop, start // per_task),
            own,
            side,
            (left, other_effects),
            patterns,
            noise,
            prior,
            sums,
        ),
        size,
        per_task,
        threads,
    )
    return sums


@cached
def _update_range(
    task: tuple[int, int, int],
    own: Posteriors,
    side: Side,
    given: tuple[Floats, Floats],
    patterns: Patterns,
    noise: OwnNoise,
    prior: Floats,
    sums: Sums,
) -> None:
    """Update the users (or items) of one task."""
    start, stop, number = task
    left, other_effects = given
    K = len(prior)
    system, inverse, P = np.empty((K, K)), np.empty((K, K)), np.empty((K, K))
    h, total = np.empty(K), np.empty(K)
    for one in range(start, stop):
        place, end = side.pointer[one], side.pointer[one + 1]
        system[:] = prior
        h[:] = 0.0
        while place < end:
            user, pattern = _key(side, place, patterns, noise)
            present, count = patterns.present[pattern], 0
            total[:] = 0.0
            while place < end and _key(side, place, patterns, noise) == (user, pattern):
                row, other = side.rows[place], side.others[place]
                for k in range(K):
                    if present[k]:
                        total[k] += left[row, k] - other_effects[other, k]
                count += 1
                place += 1
            _precision(noise.packed[user], present, inverse, P)
            for j in range(K):
                for k in range(K):
                    system[j, k] += count * P[j, k]
                    h[j] += P[j, k] * total[k]
        sums.log_determinant[number] -= invert(system, inverse)
        keep_posterior(one, own.means, own.covariances, inverse, h, sums.moment[number])


@cached
def _key(side: Side, place: int, patterns: Patterns, noise: OwnNoise) -> tuple[int, int]:
    """Return the user and the pattern of a rating: what its P depends on."""
    row = side.rows[place]
    return noise.row_users[row], patterns.of_rows[row]


@cached
def _precision(packed: Float32s, present: Bools, scratch: Floats, P: Floats) -> float:
    """Set P to the inverse over the aspects present, 0 elsewhere; return ln of the determinant."""
    K, place = len(P), 0
    for j in range(K):
        for k in range(j + 1):
            value = 1.0 if j == k else 0.0
            if present[j] and present[k]:
                value = packed[place]
            scratch[j, k] = scratch[k, j] = value
            place += 1
    log_determinant = invert(scratch, P)
    for k in range(K):
        if not present[k]:
            P[k, k] = 0.0
    return log_determinant


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
    parts = np.zeros(_TASKS)
    size = len(side.pointer) - 1
    per_task = -(-size // _TASKS)
    for_ranges(
        lambda start, stop: _noise_range(
            (start, stop, start // per_task), noise, side, left, (users, items), patterns, prior,
            parts,
        ),
        size,
        per_task,
        threads,
    )  # fmt: skip
    return float(-parts.sum() / 2)


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
        S[:] = 0.0
        while place < end:
            pattern, first = patterns.of_rows[side.rows[place]], place
            moment[:] = 0.0
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


@cached
def _distance(packed: Float32s, centre: Floats, matrices: Floats) -> tuple[float, float]:
    """Return ln|Σ_u| + tr(Σ_e Σ_u⁻¹) − K, and tr Σ_u⁻¹."""
    inverse, K = matrices[1], len(centre)
    away = _precision(packed, np.ones(K, np.bool_), matrices[0], inverse) - K
    trace = 0.0
    for j in range(K):
        trace += inverse[j, j]
        for k in range(K):
            away += centre[j, k] * inverse[j, k]
    return away, trace


@cached
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


@cached
def _add_completed(packed: Float32s, present: Bools, count: int, matrices: Floats) -> float:
    """Add E[e eᵀ] of rating vectors with the same aspects to S, and return −2 ln p of them."""
    scratch, P, B, moment, S = matrices[0], matrices[1], matrices[2], matrices[3], matrices[4]
    K, complete, known = len(P), True, 0
    for j in range(K):
        complete = complete and present[j]
        known += present[j]
        for k in range(j + 1):
            if not (present[j] and present[k]):
                moment[j, k] = 0.0
            moment[k, j] = moment[j, k]
    log_determinant = _precision(packed, present, scratch, P)
    fit = count * (log_determinant + known * math.log(2 * math.pi))
    for j in range(K):
        for k in range(K):
            fit += P[j, k] * moment[j, k]
    if complete:
        S += moment
        return fit
    at = 0
    for j in range(K):
        for k in range(j + 1):
            scratch[j, k] = scratch[k, j] = packed[at]
            at += 1
    _multiply(scratch, P, B)
    for j in range(K):
        for k in range(K):
            S[j, k] += count * scratch[j, k]
            for l in range(K):  # noqa: E741 (an index like the others)
                S[j, k] -= count * B[j, l] * scratch[l, k]
    _multiply(B, moment, P)
    for j in range(K):
        for k in range(K):
            for l in range(K):  # noqa: E741
                S[j, k] += P[j, l] * B[k, l]
    return fit


@cached
def _multiply(left: Floats, right: Floats, product: Floats) -> None:
    K = len(left)
    for j in range(K):
        for k in range(K):
            element = 0.0
            for l in range(K):  # noqa: E741
                element += left[j, l] * right[l, k]
            product[j, k] = element
