"""EFM: explicit factor models (Zhang et al., SIGIR 2014)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, NotNegative, Search, Share, TrainingConfig
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Array, Codes, Float32s, Floats
from dmrank.support.layouts import Layout, floats
from dmrank.training.least_squares.attention import (
    MIDDLE,
    TOP,
    Quality,
    make_tables,
    most_cared,
)
from dmrank.training.least_squares.multiplicative import (
    Factors,
    Tables,
    Weights,
    padded,
    run_iterations,
)
from dmrank.training.loop import RunIterations


class EFMConfig(TrainingConfig):
    """Parameters of EFM, with the names of its paper in brackets."""

    explicit_factors: Annotated[Count, Search((5, 10, 20, 40), log=True)] = 40
    """Factors that explain attention and quality as well as ratings [r]."""
    latent_factors: Annotated[int, Field(ge=0), Search((0, 10, 30, 60))] = 60
    """Factors that explain ratings alone [r']."""
    attention_weight: Annotated[NotNegative, Search((0.1, 1.0, 10.0), log=True)] = 1.0
    """Weight of the users' attention to aspects [λx]."""
    quality_weight: Annotated[NotNegative, Search((0.1, 1.0, 10.0), log=True)] = 1.0
    """Weight of the items' quality on aspects [λy]."""
    regularization: Annotated[
        NotNegative | tuple[NotNegative, NotNegative, NotNegative],
        Search((1.0, 3.0, 10.0, 30.0), log=True),
    ] = 10.0
    """Weight of the squared norms: one number, or one each for explicit factors, latent factors
    and aspects [λu, λh, λv]."""
    quality: Annotated[Quality, Search(("mean", "sentiment"))] = "mean"
    """Quality is the mean rating, or grows with the number of ratings, as the paper's does."""
    most_cared: Annotated[Count, Search((1, 2, 4, 8), log=True)] = 4
    """An overall score looks at so many aspects, those the user attends to most [k]."""
    explicit_share: Annotated[Share, Search((0.0, 0.5, 0.85, 1.0))] = 0.85
    """Share of these aspects in an overall score [α]."""
    iterations: Count = 200
    """The most iterations; each updates all factors."""
    evaluate_every: Count = 10
    """Iterations between two looks at the validation set."""
    patience: Count = 5
    """Looks without improvement after which training stops."""


class EFM(TrainedModel):
    """Explicit factor model: what a user attends to, and how good an item is at that.

    Minimises, over non-negative factors and what was observed,
    ‖P Qᵀ − A‖² + λx‖U1 Vᵀ − X‖² + λy‖U2 Vᵀ − Y‖² + λu(‖U1‖² + ‖U2‖²) + λh(‖H1‖² + ‖H2‖²) + λv‖V‖²
    with P = [U1 H1], Q = [U2 H2] (Zhang et al., SIGIR 2014). A are the overall ratings,
    X_uk = 1 + (N−1)(2/(1+e^−t) − 1) the attention of a user who rated aspect k t times, and Y_ik
    the quality of an item on aspect k, over the aspects other than overall. On complete data t,
    and so X, is the same for all aspects of a user.

    Predicted attention X̃ = U1 Vᵀ times predicted quality Ỹ = U2 Vᵀ, over N, is the score on an
    aspect; the overall score is α times the mean of it over the aspects the user cares most for,
    plus (1−α) P_u·Q_i. With a single aspect it is P_u·Q_i. Scores are calibrated: attention is
    seldom N, so that products fall short of ratings (on validation they predict them worse).

    The paper finds X and Y in review text. Here an aspect is mentioned when it is rated, and
    quality is the mean rating (`quality="mean"`), or the paper's 1 + (N−1)/(1+e^(−n s)) of n
    ratings with the mean s on a scale from −1 to 1 (`quality="sentiment"`). The paper updates the
    five matrices in turns; P, Q and V in turns lower the objective as well, with fewer passes.

    Parameters
    ----------
    **parameters
        See :class:`EFMConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> ratings = make_ratings(100, 50, 2_000, seed=1).ratings
    >>> model = EFM(explicit_factors=8, latent_factors=8, iterations=20).fit(ratings)
    >>> model.recommend("u000003", n=3, by={"value": 2, "service": 1}).shape
    (3, 5)
    """

    Config = EFMConfig
    config: EFMConfig

    def learn(self, fitting: Fitting) -> None:
        config = self.config
        data = fitting.training_data(config.missing)
        tables = make_tables(data, self._primary(), config.quality)
        factors = self._initial_factors()
        self._train(
            fitting,
            self._runner(tables, factors),
            factors._asdict(),
            {},
            learned=lambda: self._unpadded(factors),
            samples_per_iteration=len(tables.ratings.by_row.values),
        )

    def _primary(self) -> int:
        return self.catalogue.aspect(self.catalogue.primary_aspect)

    def _initial_factors(self) -> Factors:
        """Draw factors whose first predictions are around the middle of the scale."""
        rng = np.random.default_rng(self.config.seed)
        explicit, latent = self.config.explicit_factors, self.config.latent_factors
        high = 2 * np.sqrt(MIDDLE / (explicit + latent))

        def drawn(rows: int, width: int) -> Float32s:
            table = np.zeros((rows, padded(width)), dtype=np.float32)
            table[:, :width] = rng.uniform(0, high, (rows, width))
            return table

        users, items = len(self.catalogue.users), len(self.catalogue.items)
        return Factors(
            users=np.hstack([drawn(users, explicit), drawn(users, latent)]),
            items=np.hstack([drawn(items, explicit), drawn(items, latent)]),
            aspects=drawn(len(self.catalogue.aspects) - 1, explicit),
        )

    def _unpadded(self, factors: Factors) -> dict[str, Array]:
        explicit, latent = self.config.explicit_factors, self.config.latent_factors
        start = padded(explicit)

        def used(table: Float32s) -> Float32s:
            return np.hstack([table[:, :explicit], table[:, start : start + latent]])

        return {name: used(table) for name, table in factors._asdict().items()}

    def _runner(self, tables: Tables, factors: Factors) -> RunIterations:
        config = self.config
        given = config.regularization
        norms = given if isinstance(given, tuple) else (given, given, given)
        weights = Weights(config.attention_weight, config.quality_weight, *norms)
        ratings = max(len(tables.ratings.by_row.values), 1)

        def run(first: int, count: int) -> Floats:
            del first  # an iteration depends on nothing but the factors
            return -run_iterations(tables, factors, weights, count, config.threads) / ratings

        return run

    def _attention(self) -> Float32s:
        """Return X̃ = U1 Vᵀ, a row per user and a column per aspect other than overall."""
        aspects = self.arrays["aspects"]
        return self.arrays["users"][:, : aspects.shape[1]] @ aspects.T

    def _quality(self) -> Float32s:
        """Return Ỹ = U2 Vᵀ, a row per item and a column per aspect other than overall."""
        aspects = self.arrays["aspects"]
        return self.arrays["items"][:, : aspects.shape[1]] @ aspects.T

    def layout(self, sizes: Sizes) -> Layout:
        explicit, latent = self.config.explicit_factors, self.config.latent_factors
        return {
            "users": floats(sizes.users, explicit + latent),
            "items": floats(sizes.items, explicit + latent),
            "aspects": floats(sizes.aspects - 1, explicit),
        }

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        """Return [coefficients X̃_u / N, (1−α) w P_u] and [Ỹ_i, Q_i]."""
        attention, quality = self._attention(), self._quality()
        primary = self._primary()
        overall, others = weights[primary], np.delete(weights, primary)
        share = self.config.explicit_share if len(others) else 0.0
        cared = most_cared(attention, self.config.most_cared)
        explicit = (others + overall * share * cared) * attention / TOP
        latent = overall * (1 - share) * self.arrays["users"]
        return Vectors(
            np.hstack([explicit, latent]).astype(np.float32),
            np.hstack([quality, self.arrays["items"]]),
        )

    def aspect_relevance(
        self,
        users: Codes,
        items: Codes,
        aspect: int,  # noqa: ARG002
    ) -> Floats:
        """Return ½ attention + ½ quality, NaN for overall, which has neither."""
        relevance = (self._attention()[users] + self._quality()[items]) / 2
        return np.insert(relevance.astype(np.float64), self._primary(), np.nan, axis=1)
