"""PTF: probabilistic factorization of the tensor of users, items and aspects."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.scorers import Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, Positive, Search, TrainingConfig
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Array, Float32s, Floats
from dmrank.support.layouts import Layout, floats
from dmrank.training.data import TrainingData
from dmrank.training.least_squares.problem import Prior, by_item, by_user
from dmrank.training.least_squares.solve import solve_aspects, solve_rows
from dmrank.training.loop import RunIterations

_INITIAL_DEVIATION = 0.1


class PTFConfig(TrainingConfig):
    """Parameters of PTF; an iteration is one sweep over U, V and W."""

    factors: Annotated[Count, Search((5, 10, 20), log=True)] = 10
    """Dimension of the latent factors."""
    regularization: Annotated[Positive, Search((5.0, 10.0, 20.0, 50.0, 100.0), log=True)] = 50.0
    """Weight of the priors of each user and item [λ]."""
    aspect_regularization: Annotated[Positive, Search((0.03, 0.1, 0.3), log=True)] = 0.1
    """Weight of the prior of an aspect, for each of its ratings [λ_W]."""
    iterations: Count = 30
    """The most sweeps."""
    evaluate_every: Count = 1
    """Sweeps between two looks at the validation set."""
    patience: Count = 5
    """Looks without improvement after which training stops."""


class PTF(TrainedModel):
    """CP factorization of the ratings, r̂_uik = m_k + Σ_f U_uf V_if W_kf, m_k the aspect's mean.

    Minimises Σ_(u,i,k observed) (r_uik − r̂_uik)² + λ (Σ_u ‖U_u − c‖² + Σ_i ‖V_i − c'‖²)
    + λ_W Σ_k n_k ‖W_k − 1‖² by alternating least squares: squared loss with Gaussian priors, as
    the tensor factorization that the paper compares with (its section 4.1; Xiong et al., SDM 2010).
    Each row is solved exactly.

    The paper leaves the priors open. Here c is 1 in the first factor and 0 elsewhere, c' in the
    second: as long as little is known of a user, the first factor is the item's offset, and the
    second the user's. W around 1 says that the aspects agree, and fixes the scale of U and V. All
    were chosen on validation, against priors around 0 and a λ that grows with the number of
    ratings.

    Parameters
    ----------
    **parameters
        See :class:`PTFConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> ratings = make_ratings(100, 30, 1_500, seed=1).ratings
    >>> model = PTF(factors=4, iterations=5).fit(ratings)
    >>> bool(model.history.objective[-1] > model.history.objective[0])
    True
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    """

    Config = PTFConfig
    config: PTFConfig
    scores_are_ratings = True

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        data = fitting.training_data(config.missing)
        counts = np.count_nonzero(~np.isnan(data.values), axis=0)
        totals = np.nansum(data.values, axis=0, dtype=np.float64)
        means = (totals / np.maximum(counts, 1)).astype(np.float32)
        rng = np.random.default_rng(config.seed)

        def drawn(rows: int, centre: Floats) -> Float32s:
            table = rng.normal(centre, _INITIAL_DEVIATION, (rows, config.factors))
            return table.astype(np.float32)

        users = drawn(len(ratings.users), self._centre(0))
        items = drawn(len(ratings.items), self._centre(1))
        aspects = drawn(len(ratings.aspects), np.ones(config.factors))
        learned = {"users": users, "items": items, "aspects": aspects}
        self._train(
            fitting,
            self._runner(data._replace(values=data.values - means), users, items, aspects),
            learned,
            {},
            learned=lambda: {**learned, "means": means},
            samples_per_iteration=3 * int(counts.sum()),
        )

    def _centre(self, factor: int) -> Floats:
        """Return the centre of a prior: 1 in one factor, if there is such a factor."""
        return (np.arange(self.config.factors) == factor).astype(np.float64)

    def _runner(
        self,
        data: TrainingData,
        users: Float32s,
        items: Float32s,
        aspects: Float32s,
    ) -> RunIterations:
        config, threads = self.config, self.config.threads
        of_users, of_items = by_user(data), by_item(data)
        counts = np.count_nonzero(~np.isnan(data.values), axis=0)
        user_prior = Prior(np.full(len(users), config.regularization), self._centre(0))
        item_prior = Prior(np.full(len(items), config.regularization), self._centre(1))
        aspect_prior = Prior(
            config.aspect_regularization * np.maximum(counts, 1), np.ones(config.factors)
        )

        def sweep() -> float:
            solve_rows(users, of_users, items, aspects, user_prior, threads=threads)
            solve_rows(items, of_items, users, aspects, item_prior, threads=threads)
            # The minima over W cost everything but the priors of U and V.
            loss = solve_aspects(aspects, data, users, items, aspect_prior, threads=threads)
            return loss + user_prior.cost(users) + item_prior.cost(items)

        def run(first: int, count: int) -> Floats:
            del first  # a sweep depends on nothing but the factors
            return np.array([-sweep() / counts.sum() for _ in range(count)])

        return run

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:
        return {"users": self._solve(profiles, self.arrays["items"], self._centre(0))}

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array]:
        return {"items": self._solve(profiles, self.arrays["users"], self._centre(1))}

    def _solve(self, profiles: Profiles, others: Float32s, centre: Floats) -> Float32s:
        """Return the factors of users or items, those of the others being held."""
        config = self.config
        rows = np.zeros((len(profiles), config.factors), dtype=np.float32)
        prior = Prior(np.full(len(profiles), config.regularization), centre)
        values = profiles.filled(config.missing).values - self.arrays["means"]
        observed = profiles.observed(values)
        solve_rows(rows, observed, others, self.arrays["aspects"], prior, threads=config.threads)
        return rows

    def layout(self, sizes: Sizes) -> Layout:
        factors, aspects = self.config.factors, sizes.aspects
        return {
            "users": floats(sizes.users, factors),
            "items": floats(sizes.items, factors),
            "aspects": floats(aspects, factors),
            "means": floats(aspects),
        }

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        """Return vectors whose dot product is Σ_k w_k r̂_uik."""
        arrays = self.arrays
        users = arrays["users"] * (weights @ arrays["aspects"])
        level = np.full(len(users), weights @ arrays["means"], dtype=np.float32)
        items = arrays["items"]
        ones = np.ones(len(items), dtype=np.float32)
        return Vectors(np.column_stack([users, level]), np.column_stack([items, ones]))
