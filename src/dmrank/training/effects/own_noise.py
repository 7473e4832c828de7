"""Effects where every user has a noise covariance Σ_u of their own.

Matrices of users are packed, K(K+1)/2 numbers each. What they become over the aspects of a rating
is worked out when it is needed, once for all ratings in a row with the same user and aspects: to
keep it would take K² numbers a rating.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.support.arrays import AnyFloats, Bools, Codes, Float32s, Floats
from dmrank.training.effects.blocks import (
    Patterns,
    Side,
    Sums,
    invert,
    keep_posterior,
    start_system,
)
from dmrank.training.sums import Piece, for_parts, sum_blocks, whole_blocks

#: Parts that sums are taken in, whatever the number of threads.
TASKS = 64


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


def packed_matrix(matrix: AnyFloats) -> Float32s:
    """Return the lower triangle, row by row.

    Examples
    --------
    >>> packed_matrix(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.], dtype=float32)
    """
    return matrix[np.tril_indices(len(matrix))].astype(np.float32)


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

    `prior` has one matrix for all, or one for each user (or item) that is updated.
    `spread` of the sums stays empty: `noise_update` reads the covariances themselves.
    """
    return sum_blocks(
        Sums(*(each.sum(axis=0) for each in sums))
        for sums in (
            update_parts_by(
                piece, noise, own, side, left, other_effects, patterns, prior=prior, threads=threads
            )
            for piece in whole_blocks(len(own.means), TASKS)
        )
    )


def update_parts_by(
    piece: Piece,
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
    """Do what `update_effects_by` does for the users of a piece; return the sums of its parts."""
    sums = Sums.zero(TASKS, 0, own.means.shape[1])
    given = (left, other_effects)
    for_parts(
        lambda part: _update_range(part, own, side, given, patterns, noise, prior, sums),
        piece,
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
    K = prior.shape[1]
    system, inverse, P = np.empty((K, K)), np.empty((K, K)), np.empty((K, K))
    h, total = np.empty(K), np.empty(K)
    for one in range(start, stop):
        place, end = side.pointer[one], side.pointer[one + 1]
        start_system(system, prior[one if len(prior) > 1 else 0], h)
        while place < end:
            user, pattern = _key(side, place, patterns, noise)
            present, count = patterns.present[pattern], 0
            for k in range(K):
                total[k] = 0.0
            while place < end and _key(side, place, patterns, noise) == (user, pattern):
                row, other = side.rows[place], side.others[place]
                for k in range(K):
                    if present[k]:
                        total[k] += left[row, k] - other_effects[other, k]
                count += 1
                place += 1
            precision(noise.packed[user], present, inverse, P)
            for j in range(K):
                for k in range(K):
                    system[j, k] += count * P[j, k]
                    h[j] += P[j, k] * total[k]
        sums.log_determinant[number] -= invert(system, inverse)
        keep_posterior(one, own.means, own.covariances, inverse, h, sums.moment[number])


@compiled
def _key(side: Side, place: int, patterns: Patterns, noise: OwnNoise) -> tuple[int, int]:
    """Return the user and the pattern of a rating: what its P depends on."""
    row = side.rows[place]
    return noise.row_users[row], patterns.of_rows[row]


@compiled
def precision(packed: Float32s, present: Bools, scratch: Floats, P: Floats) -> float:
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
