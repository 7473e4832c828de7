"""M-BPR: Bayesian personalized ranking on every aspect at once (Rendle et al., UAI 2009)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np

from dmrank.answers.fold_in.logistic import LogisticFolding
from dmrank.answers.fold_in.pairs import Factors, Sampling
from dmrank.answers.predict import training_scale_ratings
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.models.config import Count, NotNegative, Positive, Search, Share, takes
from dmrank.models.kinds.factored import FactorConfig, FactorModel
from dmrank.support.arrays import Array, Floats
from dmrank.training.pairwise.mbpr import Combination, LogisticSettings, run_logistic_iterations
from dmrank.training.pairwise.parameters import empty_accumulators, initial_parameters
from dmrank.training.pairwise.settings import FactorSettings, SamplerSettings


class MBPRConfig(FactorConfig):
    """Parameters of M-BPR."""

    factors: Annotated[Count, Search((5, 10, 20, 40))] = 10
    """Dimension of the latent factors."""
    learning_rate: Annotated[Positive, Search((0.03, 0.1, 0.3), log=True)] = 0.1
    """Initial step size of AdaGrad."""
    regularization: Annotated[NotNegative, Search((0.003, 0.01, 0.03, 0.1), log=True)] = 0.02
    """Weight of the Gaussian priors of U, V and W per sampled pair."""
    combination: Combination = "sum"
    """How the losses of the aspects become one: the paper found the sum better."""
    rated_share: Share = 0.0
    """Share of training pairs whose second item is rated, too."""
    hard_negatives: Annotated[Count, Search((1, 5))] = 5
    """An unrated second item is the best-scored of so many; 1 draws it blindly, as BPR does."""
    item_offsets: bool = False
    """Give each item a learned offset per aspect."""
    initial_deviation: Positive = 0.1
    """Standard deviation of the factors before training."""


class MBPR(FactorModel):
    """Multi-task Bayesian Personalized Ranking.

    Minimises Σ_(u,i,j) Σ_k −ln σ(sign(r_uik − r_ujk) μ_k) + λ‖Θ‖², μ = (U_u * (V_i − V_j)) Wᵀ,
    over the aspects k that differ in the pair: the BPR loss of Rendle et al. once per aspect, with
    shared user and item factors and one row of weights per aspect (DMR paper, 4.1). An unrated item
    counts as rated 0 on every aspect. ``combination="product"`` minimises Π_k of the losses
    instead. Pairs are drawn as for DMR; the paper leaves the optimiser open: it is AdaGrad. An
    unrated j that scores high teaches more than a blind one, on every file that was tried: by
    default it is the best-scored of five.

    Its parameters are those of :class:`MBPRConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = MBPR(iterations=200, evaluate_every=100, seed=1)
    >>> model = model.fit(split.train, validation=split.validation)
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    """

    Config = MBPRConfig
    config: MBPRConfig
    can_warm_start = True

    @takes(MBPRConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        data = fitting.training_data(config.missing)
        K = len(ratings.aspects)
        parameters = initial_parameters(
            len(ratings.users),
            len(ratings.items),
            K,
            config.factors,
            covariance="identity",
            prior=np.eye(K),
            deviation=config.initial_deviation,
            nonnegative=False,
            offsets=np.zeros((len(ratings.items), K), np.float32) if config.item_offsets else None,
            seed=config.seed,
        )
        if fitting.warm_start is not None:
            fitting.warm_start.carry_over(parameters._asdict())
        accumulators = empty_accumulators(parameters)
        settings = self._settings()

        def run(first: int, count: int) -> Floats:
            return run_logistic_iterations(
                data, parameters, accumulators, settings, first, count, config.threads
            )

        self._train_on_pairs(
            fitting, run, parameters, accumulators, samples_per_iteration=config.batch_size
        )

    def _folding(self) -> LogisticFolding | None:
        config = self.config
        if config.combination != "sum":
            return None
        sampling = Sampling(config.rated_share, config.hard_negatives, config.seed)
        return LogisticFolding(Factors.from_arrays(self.arrays), config.regularization, sampling)

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array] | None:
        folding = self._folding()
        if folding is None:
            return None
        profiles = profiles.filled(self.config.missing)
        return {"users": np.array([folding.user(profile) for profile in profiles])}

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array] | None:
        folding = self._folding()
        if folding is None or self.config.item_offsets:
            return None
        profiles = profiles.filled(self.config.missing)
        catalogue, ratings_of = self.catalogue, partial(training_scale_ratings, self)
        found = [folding.item(profile, catalogue, ratings_of) for profile in profiles]
        return {"items": np.array(found)}

    def _settings(self) -> LogisticSettings:
        config = self.config
        return LogisticSettings(
            SamplerSettings(
                config.batch_size, config.rated_share, config.hard_negatives, config.seed
            ),
            FactorSettings(
                learning_rate=config.learning_rate,
                scale=1.0 / config.batch_size,
                user_regularization=config.regularization,
                item_regularization=config.regularization,
                aspect_regularization=config.regularization,
                offset_regularization=config.regularization,
                nonnegative=False,
            ),
            config.combination,
        )
