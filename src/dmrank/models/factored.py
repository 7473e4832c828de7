"""Models that score by r̂_uik = Σ_f U_uf V_if W_kf + b_ik."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmrank.models.scores import Vectors
from dmrank.models.trained import TrainedModel
from dmrank.training.data import Parameters


class FactorModel(TrainedModel):
    """A trained model with the arrays `users`, `items`, `aspects` and, maybe empty, `offsets`."""

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
