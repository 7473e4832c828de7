"""Folding users and items into M-BPR: their factors, with everything else held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dmrank.answers.fold_in.estimation import fit_to_drawn
from dmrank.answers.fold_in.linear import (
    LinearPairs,
    before_folding,
    linear_in_item,
    linear_in_user,
)
from dmrank.answers.fold_in.newton import Local, newton_maximum
from dmrank.answers.fold_in.pairs import (
    Factors,
    RatingsOf,
    Sampling,
    draw_item_pairs,
    draw_user_pairs,
)
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.profiles import Profile
from dmrank.support.arrays import Floats


@dataclass(frozen=True)
class LogisticFolding:
    """What of an M-BPR is held while a user or an item is estimated.

    Attributes
    ----------
    factors : Factors
        U, V, W and offsets.
    regularization : float
        Weight of the Gaussian priors per pair.
    sampling : Sampling
        Of pairs.
    """

    factors: Factors
    regularization: float
    sampling: Sampling

    def user(self, profile: Profile) -> Floats:
        """Return the factors of a user."""
        rng = np.random.default_rng(self.sampling.seed)

        def draw(x: Floats, count: int) -> LinearPairs:
            pairs = draw_user_pairs(profile, self.factors, x, count, self.sampling, rng)
            return linear_in_user(pairs, self.factors, _no_covariance(len(pairs.first)))

        return self._estimate(draw, before_folding(self.factors.users, profile.code))

    def item(self, profile: Profile, catalogue: Catalogue, ratings_of: RatingsOf) -> Floats:
        """Return the factors of an item; `ratings_of` predicts what a model does not store."""
        rng = np.random.default_rng(self.sampling.seed)

        def draw(x: Floats, count: int) -> LinearPairs:
            del x  # which pairs are drawn does not depend on the factors of the item
            pairs = draw_item_pairs(profile, catalogue, ratings_of, count, self.sampling, rng)
            return linear_in_item(pairs, self.factors, _no_covariance(len(pairs.users)))

        return self._estimate(draw, before_folding(self.factors.items, profile.code))

    def _estimate(self, draw: Callable[[Floats, int], LinearPairs], start: Floats) -> Floats:
        hard = self.sampling.hard_negatives > 1
        return fit_to_drawn(draw, self._fit, start, hard_negatives=hard)

    def _fit(self, pairs: LinearPairs, start: Floats, steps: int) -> Floats:
        """Maximise the mean over pairs of Σ_k ln σ(sign(d_k) μ_k) − ½λ‖x‖², with μ = J x + m."""
        differs = pairs.difference != 0
        sign = np.sign(pairs.difference)[differs]
        rows = sign[:, None] * pairs.design[differs]
        shift = sign * pairs.constant[differs]
        of_rows = np.repeat(pairs.weight / pairs.weight.sum(), differs.sum(axis=1))
        ridge = self.regularization

        def at(x: Floats) -> Local:
            margin = rows @ x + shift
            wrong = special.expit(-margin)
            return Local(
                value=float(of_rows @ special.log_expit(margin) - ridge * (x @ x) / 2),
                gradient=rows.T @ (of_rows * wrong) - ridge * x,
                curvature=(rows.T * (of_rows * wrong * (1 - wrong))) @ rows
                + (ridge + 1e-9) * np.eye(len(x)),
            )

        return newton_maximum(at, start, steps=steps)


def _no_covariance(pairs: int) -> Floats:
    return np.empty((pairs, 0, 0))
