"""IALS: implicit feedback by alternating least squares (Hu, Koren and Volinsky, ICDM 2008).

Our own, on the solver that PTF uses, and not the `implicit` package: the same bits whatever the
number of threads, early stopping and checkpoints as every model here, a regularization that grows
with the number of ratings, and no further dependency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.data.rows import count_codes
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.fitted.scorers import MixVectors, Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, Positive, Search, Share, TrainingConfig, takes
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Array, Float32s, Floats, Int64s
from dmrank.support.layouts import Layout, floats
from dmrank.training.least_squares.problem import Prior
from dmrank.training.least_squares.solve import gram, solve_rows
from dmrank.training.least_squares.spread import Alternation, Rated, Solved, alternation

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


@dataclass
class _Solver:
    """Solves for U and V in turns, and knows for which V it has solved for U.

    Attributes
    ----------
    sides : Alternation
        Where that is done.
    unobserved_weight : float
        α₀.
    threads : int or None
        Number of threads.
    """

    sides: Alternation
    unobserved_weight: float
    threads: int | None
    solved_for: Float32s | None = None

    def sweep(self, items: Float32s) -> float:
        """Solve for U and then V, in its place; return what they cost."""
        solved = self._solve_users(items)
        # The minima over V cost everything but the prior of U.
        return self.sides.solve_items(items, self.unobserved_weight * solved.gram) + solved.cost

    def users(self, before: Float32s) -> Float32s:
        """Return the U of a V."""
        if self.solved_for is None or not np.array_equal(self.solved_for, before):
            self._solve_users(before)
        return self.sides.users()

    def _solve_users(self, items: Float32s) -> Solved:
        self.solved_for = items.copy()
        return self.sides.solve_users(items, self.unobserved_weight * gram(items, self.threads))


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
        deviation = _INITIAL_DEVIATION / np.sqrt(config.factors)
        rng = np.random.default_rng(config.seed)
        items = rng.normal(0, deviation, (len(ratings.items), config.factors)).astype(np.float32)
        # U follows from the V of before the sweep: V is all that a run has to keep.
        before = np.zeros_like(items)
        solver = self._solver(ratings)
        self._train(
            fitting,
            # A sweep depends on nothing but the factors.
            lambda _, count: self._sweeps(solver, before, items, count) / len(ratings),
            {"before": before, "items": items},
            {},
            learned=lambda: {"users": solver.users(before), "items": items},
            samples_per_iteration=2 * len(ratings),
        )

    def _solver(self, ratings: Ratings) -> _Solver:
        users, items = len(ratings.users), len(ratings.items)
        counts = count_codes(ratings.item_codes, items)
        priors = self._prior(np.diff(ratings.user_pointer), items), self._prior(counts, users)
        rated = Rated(ratings.user_pointer, ratings.item_codes, items)
        weight = self.config.unobserved_weight
        return _Solver(alternation(rated, priors, self.config.threads), weight, self.config.threads)

    def _sweeps(self, solver: _Solver, before: Float32s, items: Float32s, count: int) -> Floats:
        """Run sweeps in place, and return what is maximised after each."""
        found = np.empty(count)
        for sweep in range(count):
            before[...] = items
            found[sweep] = -solver.sweep(items)
        return found

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
        shared = config.unobserved_weight * gram(others, config.threads)
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
