"""ItemMean: what everybody thinks of an item, aspect by aspect."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.scorers import Vectors
from dmrank.models.base import Model
from dmrank.models.config import Config, NotNegative, Search
from dmrank.training.data import Missing, TrainingData


class ItemMeanConfig(Config):
    """Parameters of ItemMean; nothing in it is random."""

    shrinkage: Annotated[NotNegative, Search((1.0, 2.0, 5.0, 10.0, 20.0), log=True)] = 5.0
    """A mean is shrunk as if so many average ratings had been seen as well."""
    missing: Missing = "marginalize"
    """Leave missing aspects out of the means, or count them as rated 0."""


class ItemMean(Model):
    """Rate by the item's shrunk mean, and by how lenient the user is.

    r̂_uik = m_k + o_u + b_ik, where b_ik = Σ_u (r_uik − r̄_u) / (n_ik + shrinkage) is the item's mean
    over its raters' own levels and o_u the shrunk mean of what is left of the user's ratings. The
    order of items is that of b_ik: it is the same for all users.

    Parameters
    ----------
    **parameters
        See :class:`ItemMeanConfig`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> users, items, values = ["a", "b", "b"], ["x", "x", "y"], [[1], [2], [5]]
    >>> ratings = Ratings.from_arrays(users, items, values, aspects=["r"])
    >>> ItemMean().fit(ratings).recommend("a", n=2, exclude_seen=False)["item"].to_list()
    ['y', 'x']
    """

    Config = ItemMeanConfig
    config: ItemMeanConfig
    scores_are_ratings = True

    def _fit(self, fitting: Fitting) -> None:
        data = fitting.training_data(self.config.missing)
        items = item_means(data, self.config.shrinkage)
        left = data.values - items[data.items]
        level = np.array([_mean(column) for column in left.T], dtype=np.float32)
        left -= level
        observed = ~np.isnan(left)
        n_users = len(data.user_ptr) - 1
        counts = np.bincount(data.row_users, observed.sum(axis=1), minlength=n_users)
        totals = np.bincount(data.row_users, np.nansum(left, axis=1), minlength=n_users)
        offsets = totals / np.maximum(counts + self.config.shrinkage, 1)
        self._arrays = {
            "items": items + level,
            "users": offsets.astype(np.float32),
        }

    def _fold_in_users(self, profiles: Profiles) -> dict[str, NDArray[Any]]:
        values = profiles.values
        if self.config.missing == "zero":
            values = np.nan_to_num(values)
        left = values - self._arrays["items"][profiles.others]
        own = np.repeat(np.arange(len(profiles)), profiles.counts)
        counts = np.bincount(own, (~np.isnan(left)).sum(axis=1))
        totals = np.bincount(own, np.nansum(left, axis=1))
        return {"users": totals / np.maximum(counts + self.config.shrinkage, 1)}

    def _vectors(self, weights: NDArray[np.float32]) -> Vectors:
        offsets = self._arrays["users"] * weights.sum()
        users = np.column_stack([np.ones_like(offsets), offsets])
        items = self._arrays["items"] @ weights
        return Vectors(users, np.column_stack([items, np.ones_like(items)]))


def item_means(data: TrainingData, shrinkage: float = 5.0) -> NDArray[np.float32]:
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


def _mean(values: NDArray[np.float32]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0
