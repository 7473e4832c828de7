"""Propensities: how likely each user was to meet what they have rated.

By popularity, or by a model of who comes to what: it is fitted without a fifth of the ratings at a
time and scores these, and the share of rated items among all those with such a score is the
propensity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field
from scipy.optimize import isotonic_regression

from dmrank.data.ratings import Ratings
from dmrank.data.splitting import fold_parts
from dmrank.models.base import Model
from dmrank.models.kinds.factored import FactorConfig
from dmrank.models.kinds.member_names import check_members, members_by_name, unfitted_member
from dmrank.support.arrays import Bools, Codes, Float32s, Floats
from dmrank.support.errors import ConfigError
from dmrank.training.data import TrainingData
from dmrank.training.pairwise.row_weights import inverse_weights, with_row_weights
from dmrank.training.propensities import popularity_propensities

_POPULARITY = "popularity"
_FOLDS = 5
#: Items that a rated one is compared with, per user and fold.
_OTHERS = 20
#: Users who are scored at once.
_USERS_AT_ONCE = 256


def _named(given: object) -> object:
    """Return a model, or the name of one, as its name with parameters."""
    if given is None or given == _POPULARITY:
        return given
    if isinstance(given, str | Model):
        given = [given]
    elif not isinstance(given, Mapping) or len(given) != 1:
        raise ConfigError("give 'popularity' or one model, such as 'ease'")
    return check_members(members_by_name(given))


if TYPE_CHECKING:
    # A constructor also takes a model or its name.
    Propensity: TypeAlias = str | Model | Mapping[str, dict[str, Any]] | None
else:
    Propensity = Annotated[
        Literal["popularity"] | dict[str, dict[str, Any]] | None, BeforeValidator(_named)
    ]


class PropensityConfig(FactorConfig):
    """Parameters of models whose pairs may count by propensities."""

    propensity: Propensity = None
    """Whether pairs with an unrated item count by the inverse of how likely the rated one was met:
    by its popularity, or by a model of who comes to what, such as ``"ease"``."""
    largest_weight: Annotated[float, Field(ge=1)] = 3.0
    """The most that `propensity` lets such a pair count, in times what the median one does."""


def weigh_rows(data: TrainingData, ratings: Ratings, config: PropensityConfig) -> TrainingData:
    """Return training data whose rows are drawn by the inverse of their propensities, if asked."""
    if (how := config.propensity) is None:
        return data
    if how == _POPULARITY:
        met = popularity_propensities(data.item_counts)[data.items]
    else:
        assert isinstance(how, Mapping)
        ((name, parameters),) = how.items()
        met = model_propensities(unfitted_member(name, parameters, config), ratings)
    return with_row_weights(data, inverse_weights(met, config.largest_weight))


def model_propensities(model: Model, ratings: Ratings) -> Floats:
    """Return how likely a rating is to exist, by the score of a model that has not seen it.

    Scores are standardised per user over all items, and a higher one is never less likely.
    """
    rng = np.random.default_rng(model.config.seed)
    of_rated = np.empty(len(ratings), dtype=np.float32)
    of_others = []
    for parts in fold_parts(len(ratings), _FOLDS, validation=0.0, seed=model.config.seed):
        fitted = type(model)(**model.given).fit(ratings.select(np.sort(parts.train)))
        of_rated[parts.test], others = _held_out_scores(fitted, ratings, parts.test, rng)
        of_others.append(others)
    return _share_rated(of_rated, np.concatenate(of_others), len(ratings.users), len(ratings.items))


def _held_out_scores(
    model: Model, ratings: Ratings, rows: Codes, rng: np.random.Generator
) -> tuple[Float32s, Float32s]:
    """Return standardised scores of held-out ratings, and of items that are not rated."""
    primary = np.zeros(len(ratings.aspects), dtype=np.float32)
    primary[ratings.aspect(ratings.primary_aspect)] = 1
    of_rows, of_others = [], []
    users, items = ratings.user_codes[rows], ratings.item_codes[rows]
    for start in range(0, len(ratings.users), _USERS_AT_ONCE):
        block = np.arange(start, min(start + _USERS_AT_ONCE, len(ratings.users)))
        scores = model.score_block(block, primary)
        deviation = scores.std(axis=1, keepdims=True)
        scores = (scores - scores.mean(axis=1, keepdims=True)) / np.where(deviation, deviation, 1)
        own = slice(*np.searchsorted(users, [start, start + _USERS_AT_ONCE]))
        of_rows.append(scores[users[own] - start, items[own]])
        others = rng.integers(len(ratings.items), size=(len(block), _OTHERS))
        drawn = np.take_along_axis(scores, others, axis=1)
        of_others.append(drawn[~_rated(ratings, block, others)])
    return np.concatenate(of_rows), np.concatenate(of_others)


def _rated(ratings: Ratings, users: Codes, items: Codes) -> Bools:
    """Return which of some items (users × any) their users have rated."""
    first, last = ratings.user_pointer[users[0]], ratings.user_pointer[users[-1] + 1]
    n_items = len(ratings.items)
    own = ratings.user_codes[first:last].astype(np.int64) * n_items + ratings.item_codes[first:last]
    return np.isin(users[:, None] * n_items + items, own)


def _share_rated(rated: Float32s, others: Float32s, users: int, items: int) -> Floats:
    """Return for the score of each rating the share that is rated of all pairs with such a score.

    Examples
    --------
    Of scores about 1, two of four are rated; of scores about 0, one of seven:

    >>> _share_rated(np.float32([1, 1, 0]), np.float32([1, 1, 0, 0, 0, 0, 0, 0]), 1, 11)
    array([0.5       , 0.5       , 0.14285714])
    """
    values, place = np.unique(np.concatenate([rated, others]), return_inverse=True)
    hits = np.bincount(place[: len(rated)], minlength=len(values))
    # Each of those that were drawn stands for as many that were not.
    per_draw = (users * items - len(rated)) / max(len(others), 1)
    totals = hits + per_draw * np.bincount(place[len(rated) :], minlength=len(values))
    shares = isotonic_regression(hits / totals, weights=totals).x
    return np.asarray(shares[place[: len(rated)]], dtype=np.float64)
