"""EASE: a linear model from what a user rated to everything else (Steck, WWW 2019)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.models.base import Model
from dmrank.models.config import Config, Positive, Search
from dmrank.support.arrays import Array, Codes, Float32s
from dmrank.support.errors import ConfigError, DataError
from dmrank.training.least_squares.item_regression import (
    SparseRows,
    gram,
    regress,
    score_all,
    score_pairs,
)

#: Above this the weights alone are larger than the memory of most machines.
MOST_ITEMS = 40_000


class EASEConfig(Config):
    """Parameters of EASE; nothing in it is random."""

    regularization: Annotated[
        Positive, Search((30.0, 100.0, 300.0, 1_000.0, 3_000.0), log=True)
    ] = 300.0
    """Weight of the squared weights [λ]."""


class EASE(Model):
    """Linear regression of every item on all others; one score for all aspects.

    Minimises ‖X − XB‖² + λ‖B‖² with diag(B) = 0, where X_ui = 1 if u rated i and else 0. With
    P = (XᵀX + λI)⁻¹ the solution is B_ij = −P_ij / P_jj off the diagonal (Steck, Eq. 8), and
    score(u, j) = Σ_(i rated by u) B_ij. The values of the ratings play no part.

    B is dense, so that the number of items N is limited: 4 N² bytes, in single precision. λ keeps P
    well conditioned, and no weight of 10,000 beers was off by more than 1e-6.

    Parameters
    ----------
    **parameters
        See :class:`EASEConfig`.

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

    def learn(self, fitting: Fitting) -> None:
        ratings, threads = fitting.ratings, self.config.threads
        items = len(ratings.items)
        if items > MOST_ITEMS:
            raise DataError(
                f"EASE of {items:,} items needs {4 * items**2 / 1e9:,.0f} GB of memory; it takes "
                f"up to {MOST_ITEMS:,} items: keep fewer with k_core, or use IALS"
            )
        rated = np.ones(len(ratings), dtype=np.float32)
        together = gram(SparseRows(ratings.user_pointer, ratings.item_codes, rated), items, threads)
        self._check_precision(together)
        self.arrays = {"weights": regress(together, self.config.regularization, threads)}

    def _check_precision(self, counts: Float32s) -> None:
        """Refuse a λ that the rounding of XᵀX would hide."""
        given = self.config.regularization
        least = float(np.finfo(np.float32).eps * counts.sum(axis=1).max())
        if given < least:
            raise ConfigError(
                f"regularization={given:g} is lost in the rounding of single precision: with "
                f"these ratings give at least {least:.1g}, better 1 or more"
            )

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:  # noqa: ARG002
        # Scores follow from what the catalogue says a user has seen.
        return {}

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        scores = score_all(self._seen(), users, self.arrays["weights"], self.config.threads)
        scores *= weights.sum()
        return scores

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        weights, threads = self.arrays["weights"], self.config.threads
        scores = score_pairs(self._seen(), users, items, weights, threads)
        return np.repeat(scores[:, None], len(self.catalogue.aspects), axis=1)

    def _seen(self) -> SparseRows:
        """Return X: what the catalogue says that users have rated."""
        pointer, items = self.catalogue.seen_pointer, self.catalogue.seen_items
        return self.cache(
            "seen", lambda: SparseRows(pointer, items, np.ones(len(items), dtype=np.float32))
        )
