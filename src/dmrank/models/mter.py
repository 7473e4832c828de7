"""MTER: explainable recommendation via multi-task learning (Wang et al., SIGIR 2018)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dmrank.compiled.transpose import padded
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, NotNegative, Positive, Search, TrainingConfig
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.support.layouts import Layout, floats
from dmrank.training.pairwise.mter import run_tucker_iterations
from dmrank.training.pairwise.settings import SamplerSettings
from dmrank.training.pairwise.tucker import TuckerParameters, TuckerSettings


class MTERConfig(TrainingConfig):
    """Parameters of MTER."""

    batch_size: Count = 2_000
    """Rows and pairs per iteration."""
    factors: Annotated[Count, Search((5, 10, 15, 20))] = 15
    """Dimension of the factors of users and of items."""
    aspect_factors: Count = 12
    """Dimension of the factors of aspects."""
    learning_rate: Annotated[Positive, Search((0.1, 0.3, 1.0), log=True)] = 0.3
    """Initial step size of AdaGrad."""
    regularization: Annotated[NotNegative, Search((0.001, 0.01, 0.1), log=True)] = 0.01
    """Weight of the Gaussian priors per sample."""
    ranking_weight: Annotated[NotNegative, Search((3.0, 10.0, 30.0, 100.0), log=True)] = 30.0
    """Weight of the order of the primary aspect against the ratings."""


class MTER(TrainedModel):
    """Multi-Task Explainable Recommendation, its tensor of ratings.

    Minimises ½ Σ_(u,i,k) (r_uik − r̂_uik)² − w Σ_(u,i,j) ln σ(r̂_uio − r̂_ujo) + λ‖Θ‖² over the known
    ratings and over pairs in which u rated i higher than j on the primary aspect o, with the
    Tucker decomposition r̂_uik = Σ_abc G_abc U_ua V_ib F_kc and all parameters ≥ 0. The overall
    rating is one slice of the tensor. Words of opinion are left out, as in the DMR paper (4.1).

    Chosen where the paper leaves it open: factors start around the value at which every r̂ is the
    mean rating; rating and ranking steps alternate, each on a fresh batch, by projected AdaGrad;
    an unrated j counts as rated 0.

    Parameters
    ----------
    **parameters
        See :class:`MTERConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = MTER(iterations=200, evaluate_every=100, seed=1)
    >>> model = model.fit(split.train, validation=split.validation)
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    """

    Config = MTERConfig
    config: MTERConfig

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        data = fitting.training_data(config.missing)
        parameters = self._initial(fitting, float(np.nanmean(data.values)))
        squares = TuckerParameters(*(np.zeros_like(array) for array in parameters))
        settings = TuckerSettings(
            learning_rate=config.learning_rate,
            scale=1.0 / config.batch_size,
            regularization=config.regularization,
            ranking_weight=config.ranking_weight,
            primary=ratings.aspect(ratings.primary_aspect),
        )
        sampler = SamplerSettings(config.batch_size, 0.0, 1, config.seed)

        def run(first: int, count: int) -> Floats:
            return run_tucker_iterations(
                data, parameters, squares, settings, sampler, first, count, config.threads
            ).sum(axis=1)

        self._train(
            fitting,
            run,
            parameters._asdict(),
            {f"squares.{name}": array for name, array in squares._asdict().items()},
            samples_per_iteration=config.batch_size * (1 + len(ratings.aspects)),
        )

    def _initial(self, fitting: Fitting, mean: float) -> TuckerParameters:
        """Draw factors around the value at which every rating is predicted as the mean."""
        config, ratings = self.config, fitting.ratings
        factors, aspect_factors = config.factors, config.aspect_factors
        centre = (mean / (factors**2 * aspect_factors)) ** 0.25
        rng = np.random.default_rng(config.seed)

        def drawn(*shape: int, pad: tuple[int, ...]) -> Float32s:
            table = np.zeros(pad, dtype=np.float32)
            table[tuple(slice(length) for length in shape)] = centre * rng.uniform(0.5, 1.5, shape)
            return table

        width, n_aspects = padded(factors), len(ratings.aspects)
        n_users, n_items = len(ratings.users), len(ratings.items)
        return TuckerParameters(
            users=drawn(n_users, factors, pad=(n_users, width)),
            items=drawn(n_items, factors, pad=(n_items, width)),
            aspects=drawn(n_aspects, aspect_factors, pad=(n_aspects, aspect_factors)),
            core=drawn(factors, factors, aspect_factors, pad=(width, width, aspect_factors)),
        )

    def layout(self, sizes: Sizes) -> Layout:
        width, aspect_factors = padded(self.config.factors), self.config.aspect_factors
        return {
            "users": floats(sizes.users, width),
            "items": floats(sizes.items, width),
            "aspects": floats(sizes.aspects, aspect_factors),
            "core": floats(width, width, aspect_factors),
        }

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        """Return U_u (Σ_k w_k H_k) and V_i, with the slices H_k = Σ_c G_··c F_kc."""
        arrays = self.arrays
        mixed = arrays["core"] @ (weights @ arrays["aspects"])
        return Vectors(arrays["users"] @ mixed, arrays["items"])

    def aspect_relevance(
        self,
        users: Codes,
        items: Codes,
        aspect: int,  # noqa: ARG002
    ) -> Floats:
        """Return the predicted rating of each aspect."""
        return self.score_pairs(users, items).astype(np.float64)
