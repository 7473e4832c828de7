"""ItemMean: what everybody thinks of an item, aspect by aspect."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.scorers import Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.base import Model
from dmrank.models.config import Config, NotNegative, Search
from dmrank.support.arrays import Array, Float32s
from dmrank.support.layouts import Layout, floats
from dmrank.training.data import Missing
from dmrank.training.means import rating_means, user_levels


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

    def learn(self, fitting: Fitting) -> None:
        data = fitting.training_data(self.config.missing)
        self.arrays = rating_means(data, self.config.shrinkage)._asdict()

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:
        left = profiles.filled(self.config.missing).values - self.arrays["items"][profiles.others]
        own = np.repeat(np.arange(len(profiles)), profiles.counts)
        return {"users": user_levels(own, left, len(profiles), self.config.shrinkage)}

    def layout(self, sizes: Sizes) -> Layout:
        return {"items": floats(sizes.items, sizes.aspects), "users": floats(sizes.users)}

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        offsets = self.arrays["users"] * weights.sum()
        users = np.column_stack([np.ones_like(offsets), offsets])
        items = self.arrays["items"] @ weights
        return Vectors(users, np.column_stack([items, np.ones_like(items)]))
