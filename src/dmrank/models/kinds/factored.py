"""Models that score by r̂_uik = Σ_f U_uf V_if W_kf + b_ik."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dmrank.compiled.transpose import padded
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import MixVectors, Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, TrainingConfig
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Array, Arrays, Codes, Float32s
from dmrank.support.layouts import Layout, floats
from dmrank.training.loop import RunIterations, Schedule
from dmrank.training.pairwise.parameters import Accumulators, Parameters

#: Pairs whose factors are gathered at once.
_PAIRS = 1 << 16


class FactorConfig(TrainingConfig):
    """Parameters of models with factors that are trained on pairs."""

    batch_size: Count = 2_000
    """Pairs per step."""
    factors: Count = 10
    """Dimension of the latent factors."""
    first_look: Count | None = None
    """Iterations before the first look at the validation set; until the first regular one others
    follow, at twice as many each, and do not count for patience. None: regular ones only."""


class FactorModel(TrainedModel):
    """A trained model with the arrays `users`, `items`, `aspects` and, maybe empty, `offsets`."""

    config: FactorConfig

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return r̂_uik of pairs, one column per aspect, from one look at their factors."""
        arrays, aspects = self.arrays, self.arrays["aspects"]
        scores = np.empty((len(users), len(aspects)), dtype=np.float32)
        for start in range(0, len(users), _PAIRS):
            rows = slice(start, start + _PAIRS)
            products = arrays["users"][users[rows]] * arrays["items"][items[rows]]
            # A matrix product would round a row by how many others there are.
            np.einsum("nf,kf->nk", products, aspects, out=scores[rows])
            if len(arrays["offsets"]):
                scores[rows] += arrays["offsets"][items[rows]]
        return scores

    def layout(self, sizes: Sizes) -> Layout:
        factors, aspects = self.config.factors, sizes.aspects
        triangle = padded(aspects * (aspects + 1) // 2)
        users, items = self._covariances(sizes)
        offsets = sizes.items if sizes.length("offsets") else 0
        return {
            "users": floats(sizes.users, factors),
            "items": floats(sizes.items, factors),
            "aspects": floats(aspects, factors),
            "offsets": floats(offsets, aspects),
            **{f"user_{name}": floats(users, triangle) for name in ("roots", "covariances")},
            **{f"item_{name}": floats(items, triangle) for name in ("roots", "covariances")},
        }

    def _covariances(self, sizes: Sizes) -> tuple[int, int]:  # noqa: ARG002
        """Return how many covariances there are of users and of items."""
        return 0, 0

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        """Return vectors whose dot product is Σ_k w_k r̂_uik."""
        arrays = self.arrays
        items = arrays["items"]
        if len(arrays["offsets"]):
            items = np.column_stack([items, arrays["offsets"] @ weights])
        return Vectors(arrays["users"], items, mix=weights @ arrays["aspects"])

    def mix_vectors(self) -> MixVectors:
        """Return vectors whose dot product is Σ_k w_k r̂_uik: offsets meet the mix itself."""
        arrays, offsets = self.arrays, len(self.arrays["offsets"]) > 0

        def of_users(users: Codes, mixes: Float32s) -> Float32s:
            # A matrix product would round a row by how many others there are.
            rows = arrays["users"][users] * np.einsum("nk,kf->nf", mixes, arrays["aspects"])
            return np.column_stack([rows, mixes]) if offsets else rows

        items = arrays["items"]
        if offsets:
            items = np.column_stack([items, arrays["offsets"]])
        return MixVectors(items, of_users)

    def _schedule(self, fitting: Fitting) -> Schedule:
        # Without validation nothing is looked at.
        early = None if fitting.validator is None else self.config.first_look
        return replace(super()._schedule(fitting), first_look=early)

    def _train_on_pairs(
        self,
        fitting: Fitting,
        run: RunIterations,
        parameters: Parameters,
        accumulators: Accumulators,
        *,
        samples_per_iteration: int,
        also_learned: Arrays | None = None,
    ) -> None:
        """Run iterations that change parameters and AdaGrad's sums in place; see `_train`."""

        def learned() -> dict[str, Array]:
            return {**unpadded(parameters, self.config.factors), **(also_learned or {})}

        self._train(
            fitting,
            run,
            parameters._asdict(),
            {f"squares.{name}": array for name, array in accumulators._asdict().items()},
            learned=learned,
            samples_per_iteration=samples_per_iteration,
        )


def unpadded(parameters: Parameters, factors: int) -> dict[str, Array]:
    """Return a copy of what was trained, without the columns that fill up whole quads."""
    aspects = len(parameters.aspects)
    arrays = parameters._asdict()
    for name in ("users", "items", "aspects"):
        arrays[name] = np.ascontiguousarray(arrays[name][:, :factors])
    arrays["offsets"] = np.ascontiguousarray(parameters.offsets[:, :aspects])
    return arrays
