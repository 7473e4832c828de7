"""Models that score by what items a user rated say for others: score(u, j) = Σ_i B_ij."""

from __future__ import annotations

import numpy as np

from dmrank.fitted.profiles import Profiles
from dmrank.models.base import Model
from dmrank.support.arrays import Array, Codes, Float32s
from dmrank.training.least_squares import item_regression, pruned_weights
from dmrank.training.least_squares.item_regression import SparseRows


class ItemWeightsModel(Model):
    """A model with the array `weights`, B of items × items, or with B stored sparse.

    One score for all aspects; the values of ratings play no part. Sparse weights are the arrays
    `weights_pointer`, `weights_items` and `weights_values`.
    """

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:  # noqa: ARG002
        # Scores follow from what the catalogue says a user has seen.
        return {}

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        seen, threads = self._seen(), self.config.threads
        if "weights" in self.arrays:
            scores = item_regression.score_all(seen, users, self.arrays["weights"], threads)
        else:
            scores = pruned_weights.score_all(seen, users, self._sparse(), threads)
        scores *= weights.sum()
        return scores

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        seen, threads = self._seen(), self.config.threads
        if "weights" in self.arrays:
            dense = self.arrays["weights"]
            scores = item_regression.score_pairs(seen, users, items, dense, threads)
        else:
            scores = pruned_weights.score_pairs(seen, users, items, self._sparse(), threads)
        return np.repeat(scores[:, None], len(self.catalogue.aspects), axis=1)

    def _sparse(self) -> SparseRows:
        """Return B as it is stored when most of it is 0."""
        return SparseRows(*(self.arrays[f"weights_{name}"] for name in SparseRows._fields))

    def _seen(self) -> SparseRows:
        """Return X: what the catalogue says that users have rated."""
        pointer, items = self.catalogue.seen_pointer, self.catalogue.seen_items
        return self.cache(
            "seen", lambda: SparseRows(pointer, items, np.ones(len(items), dtype=np.float32))
        )


def sparse_arrays(weights: SparseRows) -> dict[str, Array]:
    """Return the arrays under which sparse weights are kept."""
    return {f"weights_{name}": array for name, array in weights._asdict().items()}
