"""Models that score by what items a user rated say for others: score(u, j) = Σ_i B_ij."""

from __future__ import annotations

import numpy as np

from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.fitted.sizes import Sizes
from dmrank.models.base import Model
from dmrank.support.arrays import Array, Codes, Float32s
from dmrank.support.large_arrays import large_rows
from dmrank.support.layouts import Layout
from dmrank.training.least_squares.item_regression import SparseRows
from dmrank.training.least_squares.item_weights import (
    ItemWeights,
    from_arrays,
    layout,
    score_all,
    score_pairs,
)


class ItemWeightsModel(Model):
    """A model whose arrays are B of items × items, dense or sparse.

    One score for all aspects; the values of ratings play no part.
    """

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array | NewRows]:  # noqa: ARG002
        # Scores follow from what the catalogue says a user has seen.
        return {}

    def layout(self, sizes: Sizes) -> Layout:
        return layout(sizes.shapes, sizes.items)

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        scores = score_all(self._seen(), users, self._weights(), self.config.threads)
        scores *= weights.sum()
        return scores

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        scores = score_pairs(self._seen(), users, items, self._weights(), self.config.threads)
        return np.repeat(scores[:, None], len(self.catalogue.aspects), axis=1)

    def _weights(self) -> ItemWeights:
        weights = from_arrays(self.arrays)
        assert weights is not None
        return weights

    def _seen(self) -> SparseRows:
        """Return X: what the catalogue says that users have rated."""
        pointer, items = self.catalogue.seen_pointer, self.catalogue.seen_items
        return self.cache("seen", lambda: SparseRows(pointer, items, _ones(len(items))))


def _ones(rows: int) -> Float32s:
    return large_rows(rows, np.float32, lambda own: np.ones(own.stop - own.start, np.float32))
