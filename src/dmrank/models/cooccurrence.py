"""Cooccurrence: items that the same people come to (item-based neighbours)."""

from __future__ import annotations

from typing import Annotated, Any

from dmrank.fitted.fitting import Fitting
from dmrank.models.config import Config, Count, Search, Share, takes
from dmrank.models.kinds.item_weights import ItemWeightsModel
from dmrank.training.least_squares.item_weights import to_arrays
from dmrank.training.least_squares.spread_items import cooccurrence


class CooccurrenceConfig(Config):
    """Parameters of Cooccurrence; nothing in it is random."""

    popularity_exponent: Annotated[Share, Search((0.1, 0.2, 0.3, 0.4))] = 0.3
    """How much popular items are held back: 0 not at all [e]."""
    neighbours: Annotated[Count, Search((100, 300, 1_000), log=True)] = 300
    """The most items whose raters speak for an item."""


class Cooccurrence(ItemWeightsModel):
    """Items that were rated by the same users; one score for all aspects.

    score(u, j) = Σ_(i rated by u) B_ij, with B_ij the number of users who rated both, each counting
    1/n_u, over n_i^2e n_j^e, of which each item keeps its largest (see
    `training.least_squares.cooccurrence`). The values of the ratings play no part. In sparse data
    and in catalogues of any size: it takes memory by the neighbours that are kept.

    Its parameters are those of :class:`CooccurrenceConfig`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> users, items = ["a", "a", "b", "b", "c", "c", "d"], ["x", "y", "x", "y", "v", "w", "v"]
    >>> ratings = Ratings.from_arrays(users, items, [[5]] * 7, aspects=["r"])
    >>> Cooccurrence().fit(ratings).recommend("d", n=1)["item"].to_list()
    ['w']
    """

    Config = CooccurrenceConfig
    config: CooccurrenceConfig
    spreads_its_fit = True

    @takes(CooccurrenceConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        ratings, config = fitting.ratings, self.config
        weights = cooccurrence(
            ratings.user_pointer,
            ratings.item_codes,
            len(ratings.items),
            exponent=config.popularity_exponent,
            neighbours=min(config.neighbours, len(ratings.items) - 1),
            threads=config.threads,
        )
        self.arrays = to_arrays(weights)
