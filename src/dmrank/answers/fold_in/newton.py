"""The maximum of a smooth function of few variables, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dmrank.support.arrays import Floats

#: More than a concave function ever needs.
STEPS = 25
_HALVINGS = 12
_SMALLEST_GAIN = 1e-6


class Local(NamedTuple):
    """A function at a point: value, gradient, and its curvature downwards (positive definite)."""

    value: float
    gradient: Floats
    curvature: Floats


def newton_maximum(
    at: Callable[[Floats], Local],
    start: Floats,
    *,
    nonnegative: bool = False,
    steps: int = STEPS,
) -> Floats:
    """Return where a function is highest, from a start; a step that does not gain is halved.

    Parameters
    ----------
    at : callable
        The function.
    start : float array
        Where to begin.
    nonnegative : bool
        Keep every variable at or above 0.
    steps : int
        The most steps.

    Examples
    --------
    >>> def hill(x):
    ...     return Local(-float((x - [3, -1]) @ (x - [3, -1])), -2 * (x - [3, -1]), 2 * np.eye(2))
    >>> print(newton_maximum(hill, np.zeros(2)))
    [ 3. -1.]
    >>> print(newton_maximum(hill, np.zeros(2), nonnegative=True))
    [3. 0.]
    """
    x, here = start, at(start)
    for _ in range(steps):
        # At the bound, a variable that wants to go below it stays.
        free = ~((x <= 0) & (here.gradient <= 0)) if nonnegative else np.ones(len(x), np.bool_)
        step = np.zeros(len(x))
        step[free] = np.linalg.solve(here.curvature[np.ix_(free, free)], here.gradient[free])
        for _ in range(_HALVINGS):
            there = np.maximum(x + step, 0) if nonnegative else x + step
            found = at(there)
            if found.value >= here.value:
                break
            step /= 2
        else:
            return x
        gain = found.value - here.value
        x, here = there, found
        if gain < _SMALLEST_GAIN * (1 + abs(here.value)):
            break
    return x
