"""DMR: Directional Multivariate Ranking with personalized covariances (Wang and Wang, KDD'20)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from dmrank.answers.correlation import correlations
from dmrank.answers.fold_in.directional import DirectionalFolding
from dmrank.answers.fold_in.pairs import Factors, Sampling
from dmrank.answers.predict import training_scale_ratings
from dmrank.directional.families import Family
from dmrank.directional.packing import pack, unpack
from dmrank.directional.projected import Density, FamilyName, make_family
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, NotNegative, Positive, Search, Share, takes
from dmrank.models.kinds.factored import FactorModel
from dmrank.models.kinds.propensity import PropensityConfig, weigh_rows
from dmrank.support.arrays import Array, Codes, Floats
from dmrank.support.layouts import Layout, definite
from dmrank.training.data import TrainingData
from dmrank.training.loop import RunIterations
from dmrank.training.means import item_means, standard_popularity
from dmrank.training.pairwise.dmr import run_iterations
from dmrank.training.pairwise.dmr_settings import CovariancePrior, StepSettings
from dmrank.training.pairwise.parameters import (
    Accumulators,
    Covariance,
    Parameters,
    covariance_rows,
    empty_accumulators,
    initial_parameters,
    start_at_popularity,
)
from dmrank.training.pairwise.prior import prior_covariance


class DMRConfig(PropensityConfig):
    """Parameters of DMR, with the names of the paper in brackets."""

    factors: Annotated[Count, Search((10, 20, 40, 80), log=True)] = 10
    """Dimension of the latent factors [d]."""
    learning_rate: Annotated[Positive, Search((0.03, 0.1, 0.3), log=True)] = 0.1
    """Initial step size of AdaGrad for the factors."""
    covariance_learning_rate: Positive = 0.03
    """Initial step size of AdaGrad for the covariances."""
    regularization: Annotated[
        NotNegative | tuple[NotNegative, NotNegative, NotNegative],
        Search((0.001, 0.003, 0.01, 0.03), log=True),
    ] = 0.01
    """Weight of the Gaussian priors per sampled pair: one number, or one each for U, V, W."""
    margin: Annotated[NotNegative, Search((0.0, 0.2, 0.5))] = 0.2
    """Lower limit of the line integral [ξ]."""
    user_weight: Share = 0.5
    """Share of the user in the covariance of a rating [λ]."""
    prior_strength: Positive | None = None
    """Degrees of freedom of the inverse-Wishart prior [ν]; by default K + 10."""
    prior_at: Literal["mode", "paper"] = "mode"
    """`mode`: Ψ = (ν+K+1) Σ_prior, which pulls to Σ_prior; `paper`: Ψ = ν Σ_prior."""
    covariance: Covariance = "personalized"
    """One Σ per user and item, one for all, or the identity (the paper's DMR-I)."""
    family: Annotated[FamilyName, Search(("gaussian", "student"))] = "gaussian"
    """Density of the difference vector: the paper's, or one with heavy tails."""
    degrees_of_freedom: Positive = 5.0
    """Degrees of freedom of the student family [η]."""
    density: Density = "ray"
    """Of the observed direction: along its ray (paper Eq. 5), or among all directions."""
    rated_share: Share = 0.0
    """Share of training pairs whose second item is rated, too."""
    hard_negatives: Annotated[Count, Search((1, 5))] = 1
    """An unrated second item is the best-scored of so many."""
    nonnegative: bool = False
    """Keep factors at or above 0 [ℝ₊]; on small files this left users without any."""
    item_offsets: bool = False
    """Give each item a learned offset per aspect, started at its user-adjusted mean rating."""
    offset_regularization: NotNegative = 0.0
    """Weight of the Gaussian prior of the item offsets per sampled pair."""
    initial_deviation: Annotated[float, Field(gt=0, le=10)] = 0.1
    """Standard deviation of the factors before training."""
    popularity_start: Annotated[NotNegative, Search((0.0, 1.0))] = 1.0
    """Size of popularity in the first factor before training, times 1 − `rated_share`; 0: none."""
    first_look: Count | None = 1
    """Iterations before the first look at the validation set; None: `evaluate_every`."""

    starts: ClassVar[tuple[dict[str, Any], ...]] = (
        # Heavy tails bear hard negatives, which bring the best lists, and do not need the start.
        {"family": "student", "hard_negatives": 5, "factors": 40, "regularization": 0.02}
        | {"popularity_start": 0.0},
        {"learning_rate": 0.03},
    )
    before: ClassVar[dict[str, Any]] = {"popularity_start": 0.0, "first_look": None}


class DMR(FactorModel):
    """Directional Multivariate Ranking.

    Maximises the likelihood of the observed directions d = r_ui − r_uj of pairs of rating vectors,
    Σ_(u,i,j) ln ∫_ξ^∞ p(γ d) dγ + ln p(Θ) (paper Eq. 4), with D_uij ~ N(μ, Σ_uij),
    μ = (U_u * (V_i − V_j)) Wᵀ and Σ_uij = 2λΣ_u + (1−λ)(Σ_i + Σ_j) (paper 3.2).

    Its parameters are those of :class:`DMRConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = DMR(iterations=200, evaluate_every=100, seed=1)
    >>> model = model.fit(split.train, validation=split.validation)
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    >>> model.recommend("u000003", n=3, by={"value": 2, "service": 1}).columns
    ['user', 'rank', 'item', 'score', 'item_name']
    """

    Config = DMRConfig
    config: DMRConfig
    can_warm_start = True

    @takes(DMRConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the model with every parameter as in the paper; `margin=0` is its Yelp setting."""
        settings: dict[str, Any] = {
            "factors": 10, "margin": 0.2, "user_weight": 0.5, "regularization": 0.01,
            "learning_rate": 0.03, "covariance_learning_rate": 0.03, "first_look": None,
            "iterations": 40_000, "batch_size": 2_000, "rated_share": 0.0, "hard_negatives": 1,
            "covariance": "personalized", "family": "gaussian", "prior_at": "paper",
            "nonnegative": True, "item_offsets": False, "missing": "zero", "popularity_start": 0.0,
        }  # fmt: skip
        return cls(**settings | changes)

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        data = weigh_rows(fitting.training_data(config.missing), ratings, config)
        sigma_prior = prior_covariance(data.values)
        parameters = initial_parameters(
            len(ratings.users),
            len(ratings.items),
            len(ratings.aspects),
            config.factors,
            covariance=config.covariance,
            prior=sigma_prior,
            deviation=config.initial_deviation,
            nonnegative=config.nonnegative,
            offsets=item_means(data) if config.item_offsets else None,
            seed=config.seed,
        )
        if fitting.warm_start is not None:
            fitting.warm_start.carry_over(parameters._asdict())
        else:
            size = config.popularity_start * (1 - config.rated_share)
            popularity = standard_popularity(data)
            start_at_popularity(parameters, popularity, size, nonnegative=config.nonnegative)
        accumulators = empty_accumulators(parameters)
        self._train_on_pairs(
            fitting,
            self._runner(data, parameters, accumulators, self._prior(sigma_prior)),
            parameters,
            accumulators,
            samples_per_iteration=config.batch_size * (1 if config.covariance == "identity" else 2),
            also_learned={"prior_covariance": sigma_prior.astype(np.float32)},
        )

    def _prior(self, sigma_prior: Floats) -> CovariancePrior:
        """Return the inverse-Wishart prior of every Σ (paper 3.2.2)."""
        return CovariancePrior.around(sigma_prior, self.config.prior_strength, self.config.prior_at)

    def family(self) -> Family:
        at = self.config
        return make_family(at.family, at.density, at.margin, at.degrees_of_freedom)

    def _runner(
        self,
        data: TrainingData,
        parameters: Parameters,
        accumulators: Accumulators,
        prior: CovariancePrior,
    ) -> RunIterations:
        config = self.config
        settings = StepSettings(
            batch_size=config.batch_size,
            learning_rate=config.learning_rate,
            covariance_learning_rate=config.covariance_learning_rate,
            family=self.family(),
            covariance=config.covariance,
            user_weight=config.user_weight,
            regularization=(*self._regularization(), config.offset_regularization),
            rated_share=config.rated_share,
            hard_negatives=config.hard_negatives,
            nonnegative=config.nonnegative,
            seed=config.seed,
        )
        step = partial(run_iterations, data, parameters, accumulators, prior, settings)
        # The factor step sees every pair first; the covariance step measures the same thing.
        return lambda first, count: step(first, count, config.threads)[:, 0]

    def _regularization(self) -> tuple[float, float, float]:
        given = self.config.regularization
        return given if isinstance(given, tuple) else (given, given, given)

    def _folding(self) -> DirectionalFolding:
        config, arrays = self.config, self.arrays
        return DirectionalFolding(
            factors=Factors.from_arrays(arrays),
            user_covariances=arrays["user_covariances"],
            item_covariances=arrays["item_covariances"],
            personalized=config.covariance == "personalized",
            user_weight=config.user_weight,
            prior=self._prior(arrays["prior_covariance"].astype(np.float64)),
            family=self.family(),
            regularization=self._regularization()[:2],
            nonnegative=config.nonnegative,
            sampling=Sampling(config.rated_share, config.hard_negatives, config.seed),
        )

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:
        return self._folding().users(profiles.filled(self.config.missing))

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array]:
        filled = profiles.filled(self.config.missing)
        return self._folding().items(filled, self.catalogue, partial(training_scale_ratings, self))

    def packed_covariances(self, users: Codes, items: Codes) -> Floats:
        """Return Σ_ui = λ Σ_u + (1−λ) Σ_i of (user, item) pairs, not calibrated."""
        arrays, size, kind = self.arrays, len(self.arrays["aspects"]), self.config.covariance
        if kind != "personalized":
            one = arrays["user_covariances"] if kind == "shared" else pack(np.eye(size))
            return np.tile(one.reshape(1, -1).astype(np.float64), (len(users), 1))
        of_user = arrays["user_covariances"][users].astype(np.float64)
        of_item = arrays["item_covariances"][items].astype(np.float64)
        return self.config.user_weight * of_user + (1 - self.config.user_weight) * of_item

    def layout(self, sizes: Sizes) -> Layout:
        return {**super().layout(sizes), "prior_covariance": definite(sizes.aspects)}

    def _covariances(self, sizes: Sizes) -> tuple[int, int]:
        return covariance_rows(self.config.covariance, sizes.users, sizes.items)

    def aspect_relevance(self, users: Codes, items: Codes, aspect: int) -> Floats:
        """Return the correlation of each aspect with the one that ranks (paper 4.5)."""
        packed = self.packed_covariances(users, items)
        return correlations(unpack(packed, len(self.arrays["aspects"])))[:, aspect]
