"""EFM: explicit factor models (Zhang et al., SIGIR 2014)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import expit

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Vectors
from dmrank.models.config import Count, NotNegative, Search, Share, TrainingConfig
from dmrank.models.kinds.trained import TrainedModel
from dmrank.training.data import TrainingData
from dmrank.training.least_squares.multiplicative import (
    Factors,
    Tables,
    Weights,
    make_table,
    observed_table,
    padded,
    run_iterations,
)
from dmrank.training.loop import RunIterations

#: N, the top of the training scale, and its middle.
_TOP, _MIDDLE = 5.0, 3.0

Quality = Literal["mean", "sentiment"]


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

    def _fit(self, fitting: Fitting) -> None:
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
        high = 2 * np.sqrt(_MIDDLE / (explicit + latent))

        def drawn(rows: int, width: int) -> NDArray[np.float32]:
            table = np.zeros((rows, padded(width)), dtype=np.float32)
            table[:, :width] = rng.uniform(0, high, (rows, width))
            return table

        users, items = len(self.catalogue.users), len(self.catalogue.items)
        return Factors(
            users=np.hstack([drawn(users, explicit), drawn(users, latent)]),
            items=np.hstack([drawn(items, explicit), drawn(items, latent)]),
            aspects=drawn(len(self.catalogue.aspects) - 1, explicit),
        )

    def _unpadded(self, factors: Factors) -> dict[str, NDArray[Any]]:
        explicit, latent = self.config.explicit_factors, self.config.latent_factors
        start = padded(explicit)

        def used(table: NDArray[np.float32]) -> NDArray[np.float32]:
            return np.hstack([table[:, :explicit], table[:, start : start + latent]])

        return {name: used(table) for name, table in factors._asdict().items()}

    def _runner(self, tables: Tables, factors: Factors) -> RunIterations:
        config = self.config
        given = config.regularization
        norms = given if isinstance(given, tuple) else (given, given, given)
        weights = Weights(config.attention_weight, config.quality_weight, *norms)
        ratings = max(len(tables.ratings.by_row.values), 1)

        def run(first: int, count: int) -> NDArray[np.float64]:
            del first  # an iteration depends on nothing but the factors
            return -run_iterations(tables, factors, weights, count, config.threads) / ratings

        return run

    def _attention(self) -> NDArray[np.float32]:
        """Return X̃ = U1 Vᵀ, a row per user and a column per aspect other than overall."""
        aspects = self._arrays["aspects"]
        return self._arrays["users"][:, : aspects.shape[1]] @ aspects.T

    def _quality(self) -> NDArray[np.float32]:
        """Return Ỹ = U2 Vᵀ, a row per item and a column per aspect other than overall."""
        aspects = self._arrays["aspects"]
        return self._arrays["items"][:, : aspects.shape[1]] @ aspects.T

    def _vectors(self, weights: NDArray[np.float32]) -> Vectors:
        """Return [coefficients X̃_u / N, (1−α) w P_u] and [Ỹ_i, Q_i]."""
        attention, quality = self._attention(), self._quality()
        primary = self._primary()
        overall, others = weights[primary], np.delete(weights, primary)
        share = self.config.explicit_share if len(others) else 0.0
        cared = most_cared(attention, self.config.most_cared)
        explicit = (others + overall * share * cared) * attention / _TOP
        latent = overall * (1 - share) * self._arrays["users"]
        return Vectors(
            np.hstack([explicit, latent]).astype(np.float32),
            np.hstack([quality, self._arrays["items"]]),
        )

    def _aspect_relevance(
        self,
        users: NDArray[np.integer],
        items: NDArray[np.integer],
        aspect: int,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return ½ attention + ½ quality, NaN for overall, which has neither."""
        relevance = (self._attention()[users] + self._quality()[items]) / 2
        return np.insert(relevance.astype(np.float64), self._primary(), np.nan, axis=1)


def make_tables(data: TrainingData, primary: int, quality: Quality) -> Tables:
    """Return A, X and Y of training ratings whose overall aspect is column `primary`."""
    users, items = len(data.user_ptr) - 1, len(data.item_counts)
    overall = data.values[:, primary]
    rated = np.flatnonzero(~np.isnan(overall))
    others = np.delete(data.values, primary, axis=1)
    return Tables(
        ratings=make_table(
            data.row_users[rated], data.items[rated], overall[rated], (users, items)
        ),
        attention=observed_table(attention_scores(data.row_users, others, users)),
        quality=observed_table(quality_scores(data.items, others, items, quality)),
    )


def attention_scores(
    users: NDArray[np.integer], values: NDArray[np.float32], n_users: int
) -> NDArray[np.float64]:
    """Return X, NaN where a user has never rated an aspect.

    Examples
    --------
    >>> attention_scores(np.array([0, 0, 1]), np.array([[4], [2], [np.nan]]), n_users=2).round(3)
    array([[4.046],
           [  nan]])
    """
    mentions = _sums(users, ~np.isnan(values), n_users)
    scores = 1 + (_TOP - 1) * (2 * expit(mentions) - 1)
    return np.where(mentions > 0, scores, np.nan)


def quality_scores(
    items: NDArray[np.integer], values: NDArray[np.float32], n_items: int, quality: Quality
) -> NDArray[np.float64]:
    """Return Y, NaN where an aspect of an item has never been rated.

    Examples
    --------
    >>> items, values = np.array([0, 0, 1]), np.array([[4], [5], [np.nan]])
    >>> quality_scores(items, values, n_items=2, quality="mean")
    array([[4.5],
           [nan]])
    >>> quality_scores(items, values, n_items=2, quality="sentiment").round(3)
    array([[4.27],
           [ nan]])
    """
    mentions = _sums(items, ~np.isnan(values), n_items)
    means = _sums(items, np.nan_to_num(values), n_items) / np.maximum(mentions, 1)
    if quality == "sentiment":
        sentiment = (means - _MIDDLE) / (_TOP - _MIDDLE)
        means = 1 + (_TOP - 1) * expit(mentions * sentiment)
    return np.where(mentions > 0, means, np.nan)


def most_cared(attention: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Return 1/k in the columns of the k = `count` highest values of each row, else 0.

    Examples
    --------
    >>> most_cared(np.array([[3.0, 5.0, 4.0]]), 2)
    array([[0. , 0.5, 0.5]], dtype=float32)
    """
    highest = np.argsort(-attention, axis=1, kind="stable")[:, :count]
    cared = np.zeros(attention.shape, dtype=np.float32)
    np.put_along_axis(cared, highest, 1 / max(highest.shape[1], 1), axis=1)
    return cared


def _sums(
    rows: NDArray[np.integer], values: NDArray[np.generic], n_rows: int
) -> NDArray[np.float64]:
    """Return the sum of each column over the values with the same row."""
    columns = [np.bincount(rows, column, minlength=n_rows) for column in values.T]
    return np.array(columns, dtype=np.float64).reshape(values.shape[1], n_rows).T
