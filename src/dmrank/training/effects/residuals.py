"""What no effect explains of ratings, added up by the aspects that they have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Codes, Floats
from dmrank.training.effects.blocks import Patterns, count_tasks
from dmrank.training.sums import Piece, for_parts, sum_blocks, whole_blocks


class Residuals(NamedTuple):
    """Sums over rating vectors of what no effect explains: of each part of a block, or altogether.

    Attributes
    ----------
    outer : float array, (parts ×) patterns × K × K
        Σ ê êᵀ over the rating vectors of each pattern, ê = r − μ − a − b, 0 where missing.
    total : float array, (parts ×) patterns × K
        Σ ê.
    """

    outer: Floats
    total: Floats


def sum_residuals(
    left: Floats,
    codes: tuple[Codes, Codes],
    effects: tuple[Floats, Floats],
    patterns: Patterns,
    threads: int | None,
) -> Residuals:
    """Add up residuals and their products over all rating vectors.

    Parameters
    ----------
    left : float array, n × K
        r − μ.
    codes, effects : pairs of arrays
        User and item of each row, and the effects of all users and items.
    patterns, threads
        See `update_effects`.
    """
    parts = count_tasks(patterns)
    return sum_blocks(
        Residuals(*(each.sum(axis=0) for each in sums))
        for sums in (
            sum_parts(piece, parts, left, codes, effects, patterns, threads)
            for piece in whole_blocks(len(left), parts)
        )
    )


def sum_parts(
    piece: Piece,
    parts: int,
    left: Floats,
    codes: tuple[Codes, Codes],
    effects: tuple[Floats, Floats],
    patterns: Patterns,
    threads: int | None,
) -> Residuals:
    """Do what `sum_residuals` does for the rows of a piece; return the sums of so many parts."""
    found, K = len(patterns.present), left.shape[1]
    sums = Residuals(np.zeros((parts, found, K, K)), np.zeros((parts, found, K)))
    for_parts(lambda part: _sum_range(part, left, codes, effects, patterns, sums), piece, threads)
    return sums


@cached
def _sum_range(
    task: tuple[int, int, int],
    left: Floats,
    codes: tuple[Codes, Codes],
    effects: tuple[Floats, Floats],
    patterns: Patterns,
    sums: Residuals,
) -> None:
    start, stop, number = task
    users, items = codes
    of_users, of_items = effects
    K = left.shape[1]
    residual = np.empty(K)
    for row in range(start, stop):
        pattern = patterns.of_rows[row]
        for k in range(K):
            if patterns.present[pattern, k]:
                explained = of_users[users[row], k] + of_items[items[row], k]
                residual[k] = left[row, k] - explained
            else:
                residual[k] = 0.0
        outer, total = sums.outer[number, pattern], sums.total[number, pattern]
        for j in range(K):
            total[j] += residual[j]
            for k in range(j + 1):
                outer[j, k] += residual[j] * residual[k]
