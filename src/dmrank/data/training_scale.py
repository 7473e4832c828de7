"""The linear map between each aspect's own scale and the 1–5 on which models are trained.

On unlike scales the direction of a difference would be mostly the aspect with the widest one, and
0 must stay free to mean unrated: a pair of a rated and an unrated item has a direction, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.support.arrays import Floats
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LOW, _HIGH = 1.0, 5.0
_MIDDLE = (_LOW + _HIGH) / 2


def to_training_scale(ratings: ArrayLike, scale: ArrayLike) -> Floats:
    """Map ratings from each aspect's own scale to 1–5.

    An aspect whose scale is a single point has no width to stretch: that point becomes 3, and a
    step of 1 stays a step of 1, so that the map can still be undone.

    Parameters
    ----------
    ratings
        Ratings, one aspect per entry of the last axis; NaN stays NaN.
    scale
        Lowest and highest rating of each aspect, of shape (K, 2).

    Returns
    -------
    numpy.ndarray
        The ratings from 1 to 5.

    Examples
    --------
    >>> to_training_scale([[20.0, 3.0], [0.0, 1.0]], scale=[(0, 20), (1, 5)])
    array([[5., 3.],
           [1., 1.]])
    """
    origin, width = _origin_and_width(scale)
    target_origin = np.where(width > 0, _LOW, _MIDDLE)
    slope = np.divide(_HIGH - _LOW, width, out=np.ones_like(width), where=width > 0)
    return np.asarray(target_origin + slope * (np.asarray(ratings, dtype=np.float64) - origin))


def from_training_scale(ratings: ArrayLike, scale: ArrayLike) -> Floats:
    """Map ratings from 1–5 back to each aspect's own scale: undo `to_training_scale`.

    Parameters
    ----------
    ratings
        Ratings from 1 to 5, one aspect per entry of the last axis; NaN stays NaN.
    scale
        Lowest and highest rating of each aspect, of shape (K, 2).

    Returns
    -------
    numpy.ndarray
        The ratings on their own scales.

    Examples
    --------
    >>> from_training_scale([5.0, 3.0], scale=[(0, 20), (1, 5)])
    array([20.,  3.])
    """
    return _back(ratings, *_origin_and_width(scale))


def _back(ratings: ArrayLike, origin: Floats, width: Floats) -> Floats:
    target_origin = np.where(width > 0, _LOW, _MIDDLE)
    slope = np.where(width > 0, width / (_HIGH - _LOW), 1.0)
    return np.asarray(origin + slope * (np.asarray(ratings, dtype=np.float64) - target_origin))


def within_scale(ratings: ArrayLike, scale: ArrayLike) -> Floats:
    """Map predicted ratings from 1–5 back to each aspect's own scale, and clip them to it.

    An aspect whose scale is a single point is that point.

    Examples
    --------
    >>> within_scale([6.0, 3.4], scale=[(0, 20), (4, 4)])
    array([20.,  4.])
    """
    origin, width = _origin_and_width(scale)
    return np.clip(_back(ratings, origin, width), origin, origin + width)


def _origin_and_width(scale: ArrayLike) -> tuple[Floats, Floats]:
    bounds = np.asarray(scale, dtype=np.float64)
    if bounds.ndim != 2 or bounds.shape[1] != 2:
        raise DataError(f"scale has shape {bounds.shape}: give one (low, high) per aspect")
    # An aspect that nobody has rated may have no scale: it is left as it is.
    bounds = np.where(np.isnan(bounds), (_LOW, _HIGH), bounds)
    width = bounds[:, 1] - bounds[:, 0]
    if not np.all(width >= 0):
        raise DataError("scale has an aspect whose low is above its high: give (low, high)")
    return bounds[:, 0], width
