"""Mean ratings of items, adjusted for their raters, and levels of users: no iterations needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.support.arrays import Codes, Float32s
from dmrank.training.data import TrainingData


class RatingMeans(NamedTuple):
    """r̂_uik = users_u + items_ik.

    Attributes
    ----------
    items : float32 array, N × K
        The level of each aspect, and the item's mean beyond its raters' own levels.
    users : float32 array, M
        How lenient each user is.
    """

    items: Float32s
    users: Float32s


def rating_means(data: TrainingData, shrinkage: float = 5.0) -> RatingMeans:
    """Return item means and, of what they leave, the shrunk mean of each user."""
    items = item_means(data, shrinkage)
    left = data.values - items[data.items]
    level = np.array([_mean(column) for column in left.T], dtype=np.float32)
    users = user_levels(data.row_users, left - level, len(data.user_ptr) - 1, shrinkage)
    return RatingMeans(items + level, users)


def user_levels(rows: Codes, left: Float32s, n_users: int, shrinkage: float) -> Float32s:
    """Return the shrunk mean of what is left of each user's ratings; NaN is left out."""
    counts = np.bincount(rows, (~np.isnan(left)).sum(axis=1), minlength=n_users)
    totals = np.bincount(rows, np.nansum(left, axis=1), minlength=n_users)
    return (totals / np.maximum(counts + shrinkage, 1)).astype(np.float32)


def item_means(data: TrainingData, shrinkage: float = 5.0) -> Float32s:
    """Return each item's mean rating per aspect, adjusted for its raters and shrunk to 0.

    The mean is over r_uik − r̄_u, so that an item is not good because lenient users rated it.
    """
    observed = ~np.isnan(data.values)
    values = np.where(observed, data.values, 0)
    n_users, n_items = len(data.user_ptr) - 1, len(data.item_counts)
    counts = np.bincount(data.row_users, observed.sum(axis=1), minlength=n_users)
    level = np.bincount(data.row_users, values.sum(axis=1), minlength=n_users) / np.maximum(
        counts, 1
    )
    adjusted = np.where(observed, values - level[data.row_users][:, None], 0)
    means = np.empty((n_items, values.shape[1]), dtype=np.float32)
    for k in range(values.shape[1]):
        of_item = np.bincount(data.items, observed[:, k], minlength=n_items)
        total = np.bincount(data.items, adjusted[:, k], minlength=n_items)
        means[:, k] = total / np.maximum(of_item + shrinkage, 1)
    return means


def standard_popularity(data: TrainingData) -> Float32s:
    """Return ln(1 + n_i) of each item, standardised; 0 if all are equally popular."""
    logs = np.log1p(data.item_counts.astype(np.float64))
    return ((logs - logs.mean()) / max(float(logs.std()), 1e-6)).astype(np.float32)


def _mean(values: Float32s) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0
