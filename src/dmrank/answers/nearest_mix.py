"""The mix of aspects nearest to one's own by which a user's list has the wanted order.

"A before B" is a half-space of mixes, for list scores are sums over aspects: w·(s_A − s_B) > 0. The
nearest point of all half-spaces, in the simplex of mixes, is a least distance problem: min ‖x‖ with
Gx ≥ h, which non-negative least squares solve exactly, and say where there is none (Lawson and
Hanson, Solving Least Squares Problems, 1974, chapter 23).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from dmrank.data.ids import Id
from dmrank.fitted.contract import By, FittedModel
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.support.errors import ConfigError

#: By how much of the largest difference an item has to be ahead: more than float32 rounds by.
_AHEAD = 1e-5
#: What is left of a problem without a solution, relative to its size.
_NOTHING = 1e-9


@dataclass(frozen=True)
class NearestMix:
    """What `nearest_mix` finds.

    Attributes
    ----------
    weights : dict of str to float, or None
        The mix, its weights of all aspects together 1; None if there is none.
    change : float or None
        How far it is from the one asked for: the root of the squared differences of weights.
    prevented_by : tuple of pairs
        If there is no such mix: some of the orders, of which no mix has all.
    """

    weights: dict[str, float] | None
    change: float | None
    prevented_by: tuple[tuple[Id, Id], ...] = ()


def nearest_mix(
    model: FittedModel, user: Id, orders: Iterable[tuple[Id, Id]], by: By
) -> NearestMix:
    """Find the nearest mix that puts items into an order; see `Model.nearest_mix`."""
    asked = [_pair(order) for order in orders]
    catalogue = model.catalogue
    code = catalogue.users.code(user)
    first, second = (catalogue.items.codes([pair[side] for pair in asked]) for side in (0, 1))
    mix = model.weights(by).astype(np.float64)
    mix /= mix.sum()
    differences = _differences(model, code, first, second)
    found, conflict = nearest_point(mix, differences)
    if found is None:
        return NearestMix(None, None, tuple(asked[n] for n in conflict))
    weights = dict(zip(catalogue.aspects, found.tolist(), strict=True))
    return NearestMix(weights, float(np.linalg.norm(found - mix)))


def _pair(order: object) -> tuple[Id, Id]:
    if isinstance(order, str) or not hasattr(order, "__iter__"):
        raise ConfigError(f"{order!r} is no order of two items: give pairs (before, after)")
    items = tuple(order)
    if len(items) != 2:
        raise ConfigError(f"{order!r} is no order of two items: give pairs (before, after)")
    return items


def _differences(model: FittedModel, user: int, first: Codes, second: Codes) -> Floats:
    """Return list scores of the first items less those of the second, one column per aspect."""
    users = np.full(len(first), user)
    of_first, of_second = (model.list_pairs(users, items) for items in (first, second))
    slope: Float32s = model.calibration.slope
    return (of_first.astype(np.float64) - of_second) * slope


def nearest_point(mix: Floats, differences: Floats) -> tuple[Floats | None, list[int]]:
    """Return the mix nearest to ``mix`` with w·d > 0 for all rows d, or rows that contradict.

    Examples
    --------
    >>> mix, _ = nearest_point(np.array([1.0, 0.0]), np.array([[-1.0, 3.0]]))
    >>> mix.round(3)
    array([0.75, 0.25])
    >>> nearest_point(np.array([1.0, 0.0]), np.array([[2.0, 1.0], [-1.0, -3.0]]))
    (None, [1])
    """
    K = len(mix)
    size = np.abs(differences).max(initial=0.0)
    scaled = differences / (size or 1.0)
    # Orders, then weights that are not negative; as steps from the mix.
    constraints = np.concatenate([scaled, np.eye(K)])
    bounds = np.concatenate([np.full(len(scaled), _AHEAD), np.zeros(K)]) - constraints @ mix
    if (bounds <= 0).all():
        return mix, []
    # Steps along which the sum of the weights stays 1.
    steps = np.linalg.svd(np.ones((1, K)))[2][1:].T
    columns = np.concatenate([(constraints @ steps).T, bounds[None]])
    target = np.zeros(K)
    target[-1] = 1.0
    shares, _ = nnls(columns, target)
    left = columns @ shares - target
    if np.linalg.norm(left) < _NOTHING:
        return None, [n for n in range(len(scaled)) if shares[n] > 0]
    found = mix + steps @ (left[:-1] / -left[-1])
    found = np.maximum(found, 0.0)
    return found / found.sum(), []
