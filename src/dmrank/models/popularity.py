"""Popularity: the items that most people rated."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmrank.data.rows import count_codes
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.scorers import Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.base import Model
from dmrank.models.config import Config, takes
from dmrank.support.arrays import Array, Float32s
from dmrank.support.layouts import Layout, floats


class PopularityConfig(Config):
    """Popularity has no parameters of its own; nothing in it is random."""


class Popularity(Model):
    """Rank by the number of training ratings: score(u, i) = n_i.

    One score for all aspects and users; the bar that every personal ranking has to clear.

    Its parameters are those of :class:`PopularityConfig`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> users, items, values = ["a", "b", "b"], ["x", "x", "y"], [[1], [2], [5]]
    >>> ratings = Ratings.from_arrays(users, items, values, aspects=["r"])
    >>> Popularity().fit(ratings).recommend("a", n=2, exclude_seen=False)["item"].to_list()
    ['x', 'y']
    """

    Config = PopularityConfig

    @takes(PopularityConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        ratings = fitting.ratings
        counts = count_codes(ratings.item_codes, len(ratings.items))
        self.arrays = {"counts": counts.astype(np.float32)}

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:  # noqa: ARG002
        return {}

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array]:
        return {"counts": profiles.counts.astype(np.float32)}

    def layout(self, sizes: Sizes) -> Layout:
        return {"counts": floats(sizes.items, low=0)}

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        users = np.full((len(self.catalogue.users), 1), weights.sum(), dtype=np.float32)
        return Vectors(users, self.arrays["counts"][:, None])
