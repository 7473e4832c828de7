"""What no effect explains of ratings, added up by the aspects that they have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Codes, Floats
from dmrank.training.effects.blocks import Patterns, count_tasks


class Residuals(NamedTuple):
    """Sums over rating vectors of what no effect explains, part by part.

    Attributes
    ----------
    outer : float array, tasks × patterns × K × K
        Σ ê êᵀ over the rating vectors of each pattern, ê = r − μ − a − b, 0 where missing.
    total : float array, tasks × patterns × K
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
    (n, K), tasks = left.shape, count_tasks(patterns)
    sums = Residuals(
        np.zeros((tasks, len(patterns.present), K, K)),
        np.zeros((tasks, len(patterns.present), K)),
    )
    per_task = -(-n // tasks)
    for_ranges(
        lambda start, stop: _sum_range(
            (start, stop, start // per_task), left, codes, effects, patterns, sums
        ),
        n,
        per_task,
        threads,
    )
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
