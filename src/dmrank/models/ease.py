"""EASE: a linear model from what a user rated to everything else (Steck, WWW 2019)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from dmrank.fitted.fitting import Fitting
from dmrank.models.config import Config, Count, Positive, Search, Share, takes
from dmrank.models.kinds.item_weights import ItemWeightsModel
from dmrank.support.arrays import Codes, Int64s
from dmrank.support.errors import DataError
from dmrank.support.progress import say
from dmrank.training.least_squares.item_regression import SparseRows
from dmrank.training.least_squares.item_weights import to_arrays
from dmrank.training.least_squares.regression import Ridge
from dmrank.training.least_squares.spread_items import regress_items

#: Above this the weights alone are larger than the memory of most machines.
MOST_ITEMS = 40_000


class EASEConfig(Config):
    """Parameters of EASE; nothing in it is random."""

    regularization: Annotated[
        Positive, Search((30.0, 100.0, 300.0, 1_000.0, 3_000.0), log=True)
    ] = 130.0
    """Weight of the squared weights [λ]."""
    activity_exponent: Annotated[Share, Search((0.0, 0.25, 0.5, 0.75))] = 0.5
    """How the weight of a user falls with the number of ratings: 0 not at all [a]."""
    dropout: Annotated[float, Field(ge=0, lt=1), Search((0.0, 0.1, 0.2, 0.3, 0.5))] = 0.5
    """The share of ratings that an item is to be recognised without [p]."""
    weights_per_item: Count | None = None
    """Keep so many weights of each item, those of the largest magnitude; by default all."""

    #: A file that is older than these is of plain EASE.
    before: ClassVar[dict[str, Any]] = {"activity_exponent": 0.0, "dropout": 0.0}


class EASE(ItemWeightsModel):
    """Linear regression of every item on all others; one score for all aspects.

    Minimises Σ_u w_u ‖X_u − X_u B‖² + tr(BᵀΛB) with diag(B) = 0, where X_ui = 1 if u rated i and
    else 0, and score(u, j) = Σ_(i rated by u) B_ij. The values of the ratings play no part.

    - w_u is n_u^−a, scaled to mean 1: those who rate much say less about each item.
    - Λ = λI + p/(1−p) diag(G), G = Σ_u w_u X_uᵀX_u, is what learning X from an X of which a share
      p is dropped at random comes to (Steck, NeurIPS 2020).
    - With P = (G + Λ)⁻¹ the solution is B_ij = −P_ij / P_jj off the diagonal (Steck, Eq. 8).

    ``activity_exponent=0, dropout=0`` is EASE as it was published.

    B is dense, so that the number of items N is limited: 4 N² bytes, in single precision. λ keeps P
    well conditioned, and no weight of 10,000 beers was off by more than 1e-6. With
    `weights_per_item` it is computed as before and then stored sparse; the fit says what was lost.

    Its parameters are those of :class:`EASEConfig`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> users, items = ["a", "a", "b", "b", "c", "c", "d"], ["x", "y", "x", "y", "v", "w", "v"]
    >>> ratings = Ratings.from_arrays(users, items, [[5]] * 7, aspects=["r"])
    >>> EASE(regularization=1).fit(ratings).recommend("d", n=1)["item"].to_list()
    ['w']
    """

    Config = EASEConfig
    config: EASEConfig
    spreads_its_fit = True

    @takes(EASEConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        ratings, threads = fitting.ratings, self.config.threads
        kept = self.config.weights_per_item
        items = len(ratings.items)
        if items > MOST_ITEMS:
            raise DataError(
                f"EASE of {items:,} items needs {4 * items**2 / 1e9:,.0f} GB of memory; it takes "
                f"up to {MOST_ITEMS:,} items: keep fewer with k_core, or use IALS"
            )
        rows = weighted_rows(
            ratings.user_pointer, ratings.item_codes, self.config.activity_exponent
        )
        p = self.config.dropout
        ridge = Ridge(self.config.regularization, p / (1 - p))
        weights, lost = regress_items(rows, items, ridge, kept, threads, is_checked=True)
        if isinstance(weights, SparseRows):
            say(
                f"EASE keeps {len(weights.values):,} of {items * (items - 1):,} weights; "
                f"those dropped have {lost:.2%} of the sum of squares"
            )
        self.arrays = to_arrays(weights)


def weighted_rows(pointer: Int64s, items: Codes, exponent: float) -> SparseRows:
    """Return √w_u X_u, with w_u = n_u^−a scaled to mean 1 over users with ratings.

    Examples
    --------
    >>> weighted_rows(np.array([0, 1, 5]), np.int32([0, 0, 1, 2, 3]), 0.5).values.round(3)
    array([1.155, 0.816, 0.816, 0.816, 0.816], dtype=float32)
    """
    counts = np.diff(pointer)
    weights = np.zeros(len(counts))
    rated = counts > 0
    weights[rated] = counts[rated].astype(np.float64) ** -exponent
    weights *= rated.sum() / weights.sum()
    return SparseRows(pointer, items, np.repeat(np.sqrt(weights), counts).astype(np.float32))
