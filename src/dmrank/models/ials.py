"""IALS: implicit feedback by alternating least squares (Hu, Koren and Volinsky, ICDM 2008).

Our own, on the solver that PTF uses, and not the `implicit` package: the same bits whatever the
number of threads, early stopping and checkpoints as every model here, a regularization that grows
with the number of ratings, and no further dependency.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.scorers import MixVectors, Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, Positive, Search, Share, TrainingConfig, takes
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Array, Float32s, Floats, Int64s
from dmrank.support.layouts import Layout, floats
from dmrank.training.data import TrainingData
from dmrank.training.least_squares.problem import Prior, by_item, by_user
from dmrank.training.least_squares.solve import gram, solve_rows
from dmrank.training.least_squares.spread import row_solver
from dmrank.training.loop import RunIterations

#: Standard deviation of an initial score, as Rendle et al. have it.
_INITIAL_DEVIATION = 0.1


class IALSConfig(TrainingConfig):
    """Parameters of IALS; an iteration is one sweep over U and V."""

    factors: Annotated[Count, Search((16, 32, 64, 128), log=True)] = 64
    """Dimension of the latent factors."""
    regularization: Annotated[Positive, Search((0.03, 0.1, 0.3, 1.0), log=True)] = 0.3
    """Weight of the squared factors [λ]."""
    unobserved_weight: Annotated[Positive, Search((0.01, 0.03, 0.1, 0.3), log=True)] = 0.1
    """How much it costs to score an item that the user has not rated [α₀]."""
    frequency_exponent: Annotated[Share, Search((0.0, 0.5, 1.0))] = 0.5
    """How regularization grows with the number of ratings: 0 not at all, 1 in proportion [ν]."""
    iterations: Count = 20
    """The most sweeps."""
    evaluate_every: Count = 1
    """Sweeps between two looks at the validation set."""
    patience: Count = 3
    """Looks without improvement after which training stops."""


class IALS(TrainedModel):
    """Matrix factorization of who rated what; one score U_u·V_i for all aspects.

    Minimises Σ_(u,i rated) (1 − U_u·V_i)² + α₀ Σ_(u,i) (U_u·V_i)²
    + λ (Σ_u (n_u + α₀N)^ν ‖U_u‖² + Σ_i (n_i + α₀M)^ν ‖V_i‖²), n_u and n_i numbers of ratings, M
    and N numbers of users and items: the objective of Hu et al. with the frequency-scaled
    regularization of Rendle et al. ("Revisiting the performance of iALS on item recommendation
    benchmarks", RecSys 2022). The values of the ratings play no part. Each row is solved exactly.

    Its parameters are those of :class:`IALSConfig`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> users, items = ["a", "a", "b", "b", "c", "c", "d"], ["x", "y", "x", "y", "v", "w", "v"]
    >>> ratings = Ratings.from_arrays(users, items, [[5]] * 7, aspects=["r"])
    >>> IALS(factors=2).fit(ratings).recommend("d", n=1)["item"].to_list()
    ['w']
    """

    Config = IALSConfig
    config: IALSConfig
    spreads_its_fit = True

    @takes(IALSConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        rated = np.ones((len(ratings), 1), dtype=np.float32)
        data = fitting.training_data()._replace(values=rated)
        deviation = _INITIAL_DEVIATION / np.sqrt(config.factors)
        rng = np.random.default_rng(config.seed)
        items = rng.normal(0, deviation, (len(ratings.items), config.factors)).astype(np.float32)
        users = np.zeros((len(ratings.users), config.factors), dtype=np.float32)
        self._train(
            fitting,
            self._runner(data, users, items),
            {"users": users, "items": items},
            {},
            samples_per_iteration=2 * len(ratings),
        )

    def _runner(self, data: TrainingData, users: Float32s, items: Float32s) -> RunIterations:
        config = self.config
        alpha = config.unobserved_weight
        of_users, of_items = by_user(data), by_item(data)
        user_prior = self._prior(np.diff(of_users.pointer), len(items))
        item_prior = self._prior(np.diff(of_items.pointer), len(users))
        solve_users = row_solver(of_users, user_prior, config.threads)
        solve_items = row_solver(of_items, item_prior, config.threads)
        one = np.ones((1, config.factors), dtype=np.float32)

        def sweep() -> float:
            solve_users(users, items, one, alpha * gram(items))
            # The minima over V cost everything but the prior of U.
            loss = solve_items(items, users, one, alpha * gram(users))
            return loss + user_prior.cost(users)

        def run(first: int, count: int) -> Floats:
            del first  # a sweep depends on nothing but the factors
            return np.array([-sweep() / len(data.items) for _ in range(count)])

        return run

    def _prior(self, counts: Int64s, others: int) -> Prior:
        """Return the prior with the weights λ (n + α₀N)^ν."""
        config = self.config
        frequency = counts + config.unobserved_weight * others
        ridge = config.regularization * np.power(frequency, config.frequency_exponent)
        return Prior(ridge, np.zeros(config.factors))

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:
        return {"users": self._solve(profiles, self.arrays["items"])}

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array]:
        return {"items": self._solve(profiles, self.arrays["users"])}

    def _solve(self, profiles: Profiles, others: Float32s) -> Float32s:
        """Return the factors of users or items, those of the others being held."""
        config = self.config
        rows = np.zeros((len(profiles), config.factors), dtype=np.float32)
        rated = np.ones((len(profiles.others), 1), dtype=np.float32)
        prior = self._prior(profiles.counts, len(others))
        shared = config.unobserved_weight * gram(others)
        one = np.ones((1, config.factors), dtype=np.float32)
        solve_rows(
            rows,
            profiles.observed(rated),
            others,
            one,
            prior,
            shared=shared,
            threads=config.threads,
        )
        return rows

    def layout(self, sizes: Sizes) -> Layout:
        factors = self.config.factors
        return {"users": floats(sizes.users, factors), "items": floats(sizes.items, factors)}

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        mix = np.full(self.config.factors, weights.sum(), dtype=np.float32)
        return Vectors(self.arrays["users"], self.arrays["items"], mix)

    def mix_vectors(self) -> MixVectors:
        users = self.arrays["users"]
        return MixVectors(
            self.arrays["items"],
            lambda codes, mixes: users[codes] * mixes.sum(axis=1, keepdims=True),
        )
