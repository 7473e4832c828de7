"""MixedEffects: how items are liked, aspect by aspect, and how users rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dmrank.answers.fold_in.effects import EffectsFolding
from dmrank.fitted.calibrating import held_out_ratings
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.fitted.scorers import Vectors, distinct_mixes
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, Positive, Search, TrainingConfig, takes
from dmrank.models.kinds.trained import TrainedModel
from dmrank.ranking.scoring import mixed, score_rows
from dmrank.support.arrays import Array, Codes, Float32s, Floats
from dmrank.support.layouts import Layout
from dmrank.support.plots import draw_directions
from dmrank.training.data import ScaledRows
from dmrank.training.effects.em import effects_layout, rounds_of_own_noise
from dmrank.training.effects.fitting import start_em
from dmrank.training.effects.own_noise import packed_matrix
from dmrank.training.effects.personal import (
    PersonalPart,
    mean_residuals,
    personal_arrays,
    personal_layout,
    personal_strength,
    regress_left,
)
from dmrank.training.least_squares.item_regression import SparseRows
from dmrank.training.least_squares.item_weights import score_pairs
from dmrank.training.sums import blocks_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: With more items, the weights of the personal part are larger than the memory of most machines.
MOST_ITEMS = 20_000


class MixedEffectsConfig(TrainingConfig):
    """Parameters of MixedEffects; nothing in it is random. An iteration is a round of EM."""

    is_random: ClassVar[bool] = False
    iterations: Count = 30
    """Rounds of EM; all are run."""
    evaluate_every: Count = 10
    """Rounds between two looks at the validation set, which are for the history alone."""
    noise: Literal["user", "shared"] = "user"
    """One Σ_e, or one for each user as well, found in the last sixth of the rounds."""
    noise_strength: Positive = 100.0
    """How many ratings the common noise counts as beside those of a user [κ]."""
    personal_regularization: Annotated[Positive, Search((30.0, 100.0, 300.0), log=True)] = 100.0
    """Weight of the squared weights of the personal part, in variances of what it explains [λ]."""
    personal_strength: Annotated[float, Field(ge=0, le=2)] | None = None
    """How much the personal part counts; by default chosen on validation, and 0 without."""
    personal_weights_per_item: Count | None = None
    """Keep so many weights of the personal part for each item, the largest; by default all."""


class MixedEffects(TrainedModel):
    """Crossed random effects of users and items with full covariances.

    r_ui = μ + a_u + b_i + e_ui, with a_u ~ N(0, Σ_a), b_i ~ N(0, Σ_b) and e_ui ~ N(0, Σ_u): how
    users rate, how items are liked, and what is left, each with a K × K covariance that is learned
    by mean-field EM (`training.effects.em`). An item with few ratings is drawn to what items are
    like, aspects that it lacks to what those it has say of them. The noise Σ_u of a user is drawn
    to Σ_e, that of all ratings: Σ_u = (κ Σ_e + Σ_i E[e eᵀ]) / (κ + n_u).

    Where it helps on validation, a personal part is added: y_ui, the mean over aspects of
    r − μ − a_u − b_i, regressed item on item with a zero diagonal, as EASE does with who rated
    what. It moves all aspects alike.

    It answers which of two items a user will like better, not which one they will come to: lists
    by it alone name what is liked, however few have been there.

    Its parameters are those of :class:`MixedEffectsConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = MixedEffects().fit(split.train, validation=split.validation)
    >>> model.compare("u000003", "h000001", "h000002").table.columns
    ['aspect', 'better', 'difference', 'probability']
    """

    Config = MixedEffectsConfig
    config: MixedEffectsConfig
    scores_are_ratings = True
    spreads_its_fit = True

    @takes(MixedEffectsConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        own_noise = config.noise == "user"
        em = start_em(ratings, config.missing, own_noise, fitting.checkpoint, config.threads)

        def run(first: int, count: int) -> Floats:
            own = rounds_of_own_noise(config.iterations, first, count) if own_noise else 0
            bounds = em.run(count - own, None)
            return np.append(bounds, em.run(own, config.noise_strength))

        self._train(
            fitting,
            run,
            em.parameters,
            {},
            learned=em.learned,
            samples_per_iteration=2 * len(ratings),
            keep_last=True,
        )
        if config.personal_strength != 0 and len(ratings.items) <= MOST_ITEMS:
            self._learn_personal_part(fitting)

    def settled(self) -> dict[str, Any]:
        strength = self.arrays.get("personal_strength", np.zeros(1))
        return {"personal_strength": float(strength[0])}

    def _learn_personal_part(self, fitting: Fitting) -> None:
        """Regress what is left of ratings item on item, and see what it is worth."""
        config, ratings = self.config, fitting.ratings
        if config.personal_strength is None and fitting.validation is None:
            return
        scaled, left = ScaledRows(ratings, config.missing), np.empty(len(ratings), np.float32)
        for own in blocks_of(len(ratings)):
            effects = self._effects(ratings.user_codes[own], ratings.item_codes[own])
            left[own] = mean_residuals(scaled[own] - effects)
        rows = SparseRows(ratings.user_pointer, ratings.item_codes, left)
        shape = config.personal_regularization, config.personal_weights_per_item
        weights = regress_left(rows, len(ratings.items), *shape, config.threads)
        strength = config.personal_strength
        if strength is None:
            assert fitting.validation is not None
            users, items, values = held_out_ratings(fitting.ratings, fitting.validation)
            strength = personal_strength(
                users,
                mean_residuals(values - self._effects(users, items)),
                score_pairs(rows, users, items, weights, config.threads),
            )
        if strength > 0:
            self.arrays |= personal_arrays(weights, rows, strength)

    def layout(self, sizes: Sizes) -> Layout:
        sides = sizes.users, sizes.items
        personal = personal_layout(sizes.shapes, *sides)
        return {**effects_layout(*sides, sizes.aspects), **personal}

    def _effects(self, users: Codes, items: Codes) -> Float32s:
        """Return μ + a_u + b_i of pairs."""
        return self.arrays["users"][users] + self.arrays["items"][items]

    def _personal(self) -> PersonalPart | None:
        return PersonalPart.from_arrays(self.arrays, len(self.catalogue.users))

    def scoring_vectors(self, weights: Float32s) -> Vectors | None:
        if self._personal() is not None:
            return None
        users, items = mixed(self.arrays["users"], weights), mixed(self.arrays["items"], weights)
        ones = np.ones_like(users), np.ones_like(items)
        return Vectors(np.column_stack([ones[0], users]), np.column_stack([items, ones[1]]))

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        return self.score_mixes(users, np.tile(weights, (len(users), 1)))

    def score_mixes(self, users: Codes, weights: Float32s) -> Float32s:
        """Return scores (users × all items), each user's by a mix of their own (users × K)."""
        arrays, personal = self.arrays, self._personal()
        kinds, kind_of = distinct_mixes(weights)
        columns = self.cache("columns of effects", lambda: np.ascontiguousarray(arrays["items"].T))
        of_kinds = np.reshape(kinds, (-1, len(columns)))
        scores: Float32s = score_rows(of_kinds, columns, self.config.threads)[kind_of]
        scores += mixed(arrays["users"][users], weights)[:, None]
        if personal is not None:
            # Items that were folded in have no personal part.
            own = personal.block(users, self.config.threads)
            own *= weights.sum(axis=1, keepdims=True)
            scores[:, : own.shape[1]] += own
        return scores

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        scores, personal = self._effects(users, items), self._personal()
        if personal is not None:
            scores += personal.pairs(users, items, self.config.threads)[:, None]
        return scores

    def packed_covariances(self, users: Codes, items: Codes) -> Floats:
        """Return V(a_u) + V(b_i) + Σ_u."""
        arrays = self.arrays
        spread = arrays["user_covariances"][users].astype(np.float64)
        return spread + arrays["item_covariances"][items] + self._noise(users)

    def packed_pairs(self, users: Codes, first: Codes, second: Codes) -> Floats:
        """Return V(b_i) + V(b_j) + 2 Σ_u: how the user rates is the same for both."""
        of_items = self.arrays["item_covariances"]
        return of_items[first].astype(np.float64) + of_items[second] + 2 * self._noise(users)

    def item_spread(self, items: Codes) -> Floats:
        """Return the deviation of the effects of some items, by aspect."""
        return self.arrays["items"][items].astype(np.float64).std(axis=0)

    def _noise(self, users: Codes) -> Floats:
        """Return Σ_u, or the Σ_e of a model that has one for all."""
        if "user_noise" not in self.arrays:
            return packed_matrix(self.arrays["noise"]).astype(np.float64)
        return self.arrays["user_noise"][users].astype(np.float64)

    def aspect_relevance(self, users: Codes, items: Codes, aspect: int) -> Floats:
        """Return what sets items apart: b_ik beyond what b_io lets expect, in deviations of it.

        o is the aspect that ranks; the expectation is that of Σ_b.
        """
        del users
        sigma = self.arrays["item_prior"].astype(np.float64)
        effects = (self.arrays["items"][items] - self.arrays["level"]).astype(np.float64)
        slope = sigma[aspect] / sigma[aspect, aspect]
        spread = np.diagonal(sigma) - slope * sigma[aspect]
        apart = effects - effects[:, [aspect]] * slope
        return apart / np.sqrt(np.maximum(spread, 1e-9))

    def plot_directions(self) -> Figure:
        """Draw how the aspects of items vary together, and in how many directions (Σ_b).

        Examples
        --------
        >>> from dmrank import make_ratings
        >>> model = MixedEffects().fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> drawn = model.plot_directions()
        """
        return draw_directions(
            self.arrays["item_prior"].astype(np.float64), self.catalogue.aspects, "items"
        )

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array | NewRows]:
        return self._folding().users(profiles.filled(self.config.missing))

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array]:
        return self._folding().items(profiles.filled(self.config.missing))

    def _folding(self) -> EffectsFolding:
        return EffectsFolding(self.arrays, self.config.noise_strength, self.config.threads)
