"""Posterior of the effect of one user (or item), everything else held: a K × K system each.

Given the effects of the others, the ratings of a user are r = μ + a + b_i + e with e ~ N(0, Σ_e),
so that a ~ N(0, Σ_a) has the posterior N(V h, V) with

    V = (Σ_a⁻¹ + Σ_i P_ui)⁻¹ ,   h = Σ_i P_ui (r_ui − μ − b_i)

where P_ui is the inverse of Σ_e over the aspects that the rating has, and 0 elsewhere. Ratings with
the same aspects share it: rows are numbered by their *pattern* of present aspects. `own_noise` has
the same for a Σ_e of every user.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from dmrank.compiled.compiling import cached, compiled, spliced
from dmrank.support.arrays import Array, Bools, Codes, Float32s, Floats, Int32s, Int64s
from dmrank.support.large_arrays import large_array
from dmrank.training.data import RowValues
from dmrank.training.sums import Piece, blocks_of, for_parts, sum_blocks, whole_blocks

#: The most tasks over users or items, and the most numbers that these may add up.
_MOST_TASKS, _MOST_SUMS = 64, 1 << 25


class Patterns(NamedTuple):
    """Which aspects ratings have.

    Attributes
    ----------
    present : bool array, patterns × K
        The aspects of each pattern.
    of_rows : int32 array, n
        The pattern of each rating vector.
    """

    present: Bools
    of_rows: Int32s


class Side(NamedTuple):
    """The rating vectors of each user (or item), and who the others are.

    Attributes
    ----------
    pointer : int64 array
        Rows of the n-th user are ``rows[pointer[n]:pointer[n + 1]]``.
    rows : int64 array, n
        Rows of the training data.
    others : int array, n
        The item (or user) of each of these rows.
    """

    pointer: Int64s
    rows: Int64s
    others: Codes


class Sums(NamedTuple):
    """What a pass over users (or items) adds up: of each part of a block, or altogether.

    Attributes
    ----------
    moment : float array, (parts ×) K × K
        Σ_u (m_u m_uᵀ + V_u).
    spread : float array, (parts ×) patterns × K × K
        Σ V_u over the rating vectors of each pattern.
    log_determinant : float array, (parts)
        Σ_u ln|V_u|.
    """

    moment: Floats
    spread: Floats
    log_determinant: Floats

    @classmethod
    def zero(cls, parts: int, patterns: int, K: int) -> Self:
        """Return the sums of parts of which nothing was added up yet."""
        return cls(np.zeros((parts, K, K)), np.zeros((parts, patterns, K, K)), np.zeros(parts))


def find_patterns(values: RowValues) -> Patterns:
    """Give each rating vector the number of its set of aspects.

    Examples
    --------
    >>> find_patterns(np.float32([[1, 2], [3, np.nan], [5, 5]]))
    Patterns(present=array([[ True, False],
           [ True,  True]]), of_rows=array([1, 0, 1], dtype=int32))
    """
    blocks, K = blocks_of(len(values)), values.shape[1]
    keys = np.unique(np.concatenate([np.unique(_keys(values[rows])) for rows in blocks]))
    bits = np.unpackbits(keys.view(np.uint8).reshape(len(keys), -1), axis=1)
    of_rows = large_array(len(values), np.int32)
    for rows in blocks:
        of_rows[rows] = np.searchsorted(keys, _keys(values[rows]))
    return Patterns(bits[:, :K].astype(np.bool_), of_rows)


def _keys(values: Float32s) -> Array:
    """Return the bits of each row's aspects as a string, which is sorted sooner than they are."""
    packed = np.packbits(~np.isnan(values), axis=1)
    return packed.view(f"S{packed.shape[1]}")[:, 0]


def precisions(covariance: Floats, present: Bools) -> Floats:
    """Return, for each pattern, the inverse of Σ over its aspects and 0 elsewhere.

    Examples
    --------
    >>> precisions(np.diag([2.0, 4.0]), np.array([[True, False]]))
    array([[[0.5, 0. ],
            [0. , 0. ]]])
    """
    both = present[:, :, None] & present[:, None, :]
    padded = np.where(both, covariance, np.eye(len(covariance)))
    return np.where(both, np.linalg.inv(padded), 0.0)


def count_tasks(patterns: Patterns) -> int:
    """Return how many parts sums are taken in: a number that no number of threads changes."""
    of_one = patterns.present.size * patterns.present.shape[1]
    return max(min(_MOST_TASKS, _MOST_SUMS // of_one), 1)


def update_effects(
    effects: Floats,
    covariances: Float32s,
    side: Side,
    left: Floats,
    other_effects: Floats,
    patterns: Patterns,
    *,
    noise: Floats,
    prior: Floats,
    threads: int | None,
) -> Sums:
    """Put posterior means and packed covariances in place, and return what they add up to.

    Parameters
    ----------
    effects, covariances : float arrays, M × K and M × K(K+1)/2
        m and V of each user, written here; V is packed by rows of its lower triangle.
    side : Side
        The ratings of each user.
    left : float array, n × K
        r − μ of each row of the training data; what is missing may hold anything.
    other_effects : float array, N × K
        b of the others.
    patterns : Patterns
        Which aspects rows have.
    noise : float array, patterns × K × K
        P of each pattern.
    prior : float array, K × K
        Σ_a⁻¹.
    threads : int or None
        Number of threads.
    """
    parts = count_tasks(patterns)
    return sum_blocks(
        Sums(*(each.sum(axis=0) for each in sums))
        for sums in (
            update_parts(
                piece, parts, effects, covariances, side, left, other_effects, patterns,
                noise=noise, prior=prior, threads=threads,
            )
            for piece in whole_blocks(len(effects), parts)
        )
    )  # fmt: skip


def update_parts(
    piece: Piece,
    parts: int,
    effects: Floats,
    covariances: Float32s,
    side: Side,
    left: Floats,
    other_effects: Floats,
    patterns: Patterns,
    *,
    noise: Floats,
    prior: Floats,
    threads: int | None,
) -> Sums:
    """Do what `update_effects` does for the users of a piece; return the sums of so many parts."""
    sums = Sums.zero(parts, len(patterns.present), effects.shape[1])
    for_parts(
        lambda part: _update_range(
            part,
            (effects, covariances),
            side,
            (left, other_effects),
            patterns,
            (noise, prior),
            sums,
        ),
        piece,
        threads,
    )
    return sums


@cached
def _update_range(
    task: tuple[int, int, int],
    own: tuple[Floats, Float32s],
    side: Side,
    given: tuple[Floats, Floats],
    patterns: Patterns,
    matrices: tuple[Floats, Floats],
    sums: Sums,
) -> None:
    """Update the users of one task."""
    start, stop, number = task
    effects, covariances = own
    noise, prior = matrices
    K = effects.shape[1]
    system, inverse, h = np.empty((K, K)), np.empty((K, K)), np.empty(K)
    counts = np.zeros(len(patterns.present), np.int64)
    for user in range(start, stop):
        begin, end = side.pointer[user], side.pointer[user + 1]
        start_system(system, prior, h)
        for place in range(begin, end):
            _observe(side, place, given, patterns, noise, h)
            counts[patterns.of_rows[side.rows[place]]] += 1
        for place in range(begin, end):
            pattern = patterns.of_rows[side.rows[place]]
            if counts[pattern] > 0:  # once for each pattern of this user
                _add(system, counts[pattern], noise[pattern])
                counts[pattern] = -counts[pattern]
        sums.log_determinant[number] -= invert(system, inverse)
        for place in range(begin, end):
            pattern = patterns.of_rows[side.rows[place]]
            if counts[pattern] < 0:
                _add(sums.spread[number, pattern], -counts[pattern], inverse)
                counts[pattern] = 0
        keep_posterior(user, effects, covariances, inverse, h, sums.moment[number])


# Loops: to assign an array to a part of another, Numba compiles text for an error message, for 2 s.
@spliced
def start_system(system: Floats, prior: Floats, h: Floats) -> None:
    """Set the system to that of no ratings."""
    for j in range(len(h)):
        h[j] = 0.0
        for k in range(len(h)):
            system[j, k] = prior[j, k]


@compiled
def _add(total: Floats, count: int, matrix: Floats) -> None:
    """Add a matrix so many times."""
    for j in range(len(matrix)):
        for k in range(len(matrix)):
            total[j, k] += count * matrix[j, k]


@spliced
def _observe(
    side: Side,
    place: int,
    given: tuple[Floats, Floats],
    patterns: Patterns,
    noise: Floats,
    h: Floats,
) -> None:
    """Add P (r − μ − b) of one rating vector to h."""
    left, other_effects = given
    row, other = side.rows[place], side.others[place]
    pattern = patterns.of_rows[row]
    for j in range(len(h)):
        if patterns.present[pattern, j]:
            residual = left[row, j] - other_effects[other, j]
            for k in range(len(h)):
                h[k] += noise[pattern, k, j] * residual


@spliced
def keep_posterior(
    user: int, effects: Floats, covariances: Float32s, V: Floats, h: Floats, moment: Floats
) -> None:
    """Store m = V h, and V packed, and add m mᵀ + V to the moment."""
    K, place = len(V), 0
    for j in range(K):
        effects[user, j] = 0.0
        for k in range(K):
            effects[user, j] += V[j, k] * h[k]
    for j in range(K):
        for k in range(j + 1):
            covariances[user, place] = V[j, k]
            place += 1
        for k in range(K):
            moment[j, k] += effects[user, j] * effects[user, k] + V[j, k]


@compiled
def invert(matrix: Floats, inverse: Floats) -> float:
    """Set the inverse of a positive definite matrix, and return its log-determinant.

    LAPACK takes longer than such a small system does; the matrix is overwritten by its factor.
    """
    K, log_determinant = len(matrix), 0.0
    for i in range(K):
        for j in range(i + 1):
            element = matrix[i, j]
            for k in range(j):
                element -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(element) if i == j else element / matrix[j, j]
        log_determinant += 2.0 * np.log(matrix[i, i])
    for j in range(K):  # C⁻¹, column by column
        inverse[j, j] = 1.0 / matrix[j, j]
        for i in range(j + 1, K):
            element = 0.0
            for k in range(j, i):
                element -= matrix[i, k] * inverse[k, j]
            inverse[i, j] = element / matrix[i, i]
    for i in range(K):  # C⁻ᵀ C⁻¹: rows below i are still those of C⁻¹
        for j in range(i + 1):
            element = 0.0
            for k in range(i, K):
                element += inverse[k, i] * inverse[k, j]
            inverse[i, j] = element
    for i in range(K):
        for j in range(i):
            inverse[j, i] = inverse[i, j]
    return log_determinant
