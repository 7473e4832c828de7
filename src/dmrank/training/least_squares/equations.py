"""The equations of least squares, compiled: (Σ z zᵀ + S + ρI) x = Σ y z + ρc.

Both sides are parts of one symmetric matrix, that of the sums of (z, y)(z, y)ᵀ with S, ρ and c
added, which is called the *equations*. It is summed in its lower triangle, in double precision;
one Cholesky factorization gives the solution and the minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.support.arrays import Float32s, Floats

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.least_squares.problem import Prior, Problem


# Observations that are added at once: one pass over the equations serves all of them.
_TOGETHER = 4


@cached
def solve_range(first: int, last: int, table: Float32s, problem: Problem, minima: Floats) -> None:
    """Solve for some rows of a table (see `solve.solve_rows`)."""
    observed, aspects = problem.observed, problem.aspects
    size = len(problem.shared) + 1
    equations = np.empty((size, size))
    waiting = np.empty((_TOGETHER, size))
    for row in range(first, last):
        start(equations, problem.shared, problem.prior, row)
        count = int(np.int64(0))  # for a literal 0, Numba compiles `_observe` once more
        for rating in range(observed.pointer[row], observed.pointer[row + 1]):
            other = problem.others[observed.others[rating]]
            for k in range(len(aspects)):
                y = observed.values[rating, k]
                if not np.isnan(y):
                    count = _observe(equations, waiting, count, other, aspects[k], y)
        _add_waiting(equations, waiting, count)
        minima[row] = solve(equations, table[row])


@cached
def add_ratings(
    first: int,
    last: int,
    data: TrainingData,
    users: Float32s,
    items: Float32s,
    equations: Floats,
) -> None:
    """Add some ratings to the equations of all aspects."""
    aspects, size, _ = equations.shape
    waiting = np.empty((aspects, _TOGETHER, size))
    count = np.zeros(aspects, dtype=np.int64)
    for rating in range(first, last):
        user, item = users[data.row_users[rating]], items[data.items[rating]]
        for k in range(aspects):
            y = data.values[rating, k]
            if not np.isnan(y):
                count[k] = _observe(equations[k], waiting[k], count[k], user, item, y)
    for k in range(aspects):
        _add_waiting(equations[k], waiting[k], count[k])


@compiled
def _observe(
    equations: Floats,
    waiting: Floats,
    count: int,
    one: Float32s,
    other: Float32s,
    y: float,
) -> int:
    """Let the observation (one * other, y) wait until there are enough to add them together."""
    z = waiting[count]
    for f in range(len(one)):
        z[f] = np.float64(one[f]) * other[f]
    z[len(one)] = y
    if count + 1 < _TOGETHER:
        return count + 1
    _add_products(equations, waiting)
    return 0


@compiled
def _add_waiting(equations: Floats, waiting: Floats, count: int) -> None:
    for place in range(count, _TOGETHER):
        waiting[place] = 0
    _add_products(equations, waiting)


@compiled
def _add_products(equations: Floats, z: Floats) -> None:
    """Add z₀z₀ᵀ + … + z₃z₃ᵀ to the lower triangle."""
    for a in range(len(equations)):
        z0, z1, z2, z3 = z[0, a], z[1, a], z[2, a], z[3, a]
        for c in range(a + 1):
            equations[a, c] += (z0 * z[0, c] + z1 * z[1, c]) + (z2 * z[2, c] + z3 * z[3, c])


@cached
def products(table: Float32s) -> Floats:
    """Return the lower triangle of Σ x xᵀ over the rows of a table."""
    rows, factors = table.shape
    total = np.zeros((factors, factors))
    waiting = np.zeros((_TOGETHER, factors))
    for row in range(rows):
        count = row % _TOGETHER
        for f in range(factors):
            waiting[count, f] = table[row, f]
        if count + 1 == _TOGETHER:
            _add_products(total, waiting)
    _add_waiting(total, waiting, rows % _TOGETHER)
    return total


@cached
def start(equations: Floats, shared: Floats, prior: Prior, row: int) -> None:
    """Put xᵀSx + ρ‖x − c‖² into the lower triangle."""
    factors, ridge = len(shared), prior.ridge[row]
    equations[factors, factors] = 0
    for a in range(factors):
        for c in range(a):
            equations[a, c] = shared[a, c]
        equations[a, a] = shared[a, a] + ridge
        equations[factors, a] = ridge * prior.centre[a]
        equations[factors, factors] += ridge * prior.centre[a] ** 2


@cached
def solve(equations: Floats, x: Float32s) -> float:
    """Solve equations, given as their lower triangle, and return the minimum.

    With A = RᵀR, the last column of the factor of the equations is R⁻ᵀb, and what is left in
    their corner is Σy² − b·x. R is written into the upper triangle, row by row.
    """
    size = len(equations)
    factors = size - 1
    for j in range(size):
        row = equations[j, j:]
        for c in range(1, len(row)):
            row[c] = equations[j + c, j]
        for p in range(0, j - j % 4, 4):
            R0, R1 = equations[p, j:], equations[p + 1, j:]
            R2, R3 = equations[p + 2, j:], equations[p + 3, j:]
            r0, r1, r2, r3 = R0[0], R1[0], R2[0], R3[0]
            for c in range(len(row)):
                row[c] -= (r0 * R0[c] + r1 * R1[c]) + (r2 * R2[c] + r3 * R3[c])
        for p in range(j - j % 4, j):
            R0 = equations[p, j:]
            r0 = R0[0]
            for c in range(len(row)):
                row[c] -= r0 * R0[c]
        if j < factors:
            pivot = np.sqrt(row[0])
            for c in range(len(row)):
                row[c] /= pivot
    # The last row has done its duty: it holds the solution before it is rounded.
    solution = equations[factors]
    for a in range(factors - 1, -1, -1):
        left = equations[a, factors]
        for c in range(a + 1, factors):
            left -= equations[a, c] * solution[c]
        solution[a] = left / equations[a, a]
        x[a] = solution[a]
    return equations[factors, factors]
