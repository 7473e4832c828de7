"""Models that score by r̂_uik = Σ_f U_uf V_if W_kf + b_ik."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmrank.fitted.scorers import Vectors
from dmrank.models.kinds.trained import TrainedModel
from dmrank.training.pairwise.parameters import Parameters

#: Pairs whose factors are gathered at once.
_PAIRS = 1 << 16


class FactorModel(TrainedModel):
    """A trained model with the arrays `users`, `items`, `aspects` and, maybe empty, `offsets`."""

    def _raw_scores(
        self, users: NDArray[np.integer], items: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return r̂_uik of pairs, one column per aspect, from one look at their factors."""
        arrays, aspects = self._arrays, self._arrays["aspects"]
        scores = np.empty((len(users), len(aspects)), dtype=np.float32)
        for start in range(0, len(users), _PAIRS):
            rows = slice(start, start + _PAIRS)
            products = arrays["users"][users[rows]] * arrays["items"][items[rows]]
            for k, weights in enumerate(aspects):
                # A matrix product would round a row by how many others there are.
                np.einsum("nf,f->n", products, weights, out=scores[rows, k])
            if len(arrays["offsets"]):
                scores[rows] += arrays["offsets"][items[rows]]
        return scores

    def _vectors(self, weights: NDArray[np.float32]) -> Vectors:
        """Return vectors whose dot product is Σ_k w_k r̂_uik."""
        arrays = self._arrays
        items = arrays["items"]
        if len(arrays["offsets"]):
            items = np.column_stack([items, arrays["offsets"] @ weights])
        return Vectors(arrays["users"], items, mix=weights @ arrays["aspects"])


def unpadded(parameters: Parameters, factors: int) -> dict[str, NDArray[Any]]:
    """Return a copy of what was trained, without the columns that fill up whole quads."""
    aspects = len(parameters.aspects)
    arrays = parameters._asdict()
    for name in ("users", "items", "aspects"):
        arrays[name] = np.ascontiguousarray(arrays[name][:, :factors])
    arrays["offsets"] = np.ascontiguousarray(parameters.offsets[:, :aspects])
    return arrays
