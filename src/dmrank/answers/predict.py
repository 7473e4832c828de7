"""Predicted ratings of (user, item) pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from dmrank.data.ids import Id, id_list
from dmrank.data.training_scale import from_training_scale, within_scale
from dmrank.fitted.contract import FittedModel
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.support.errors import DataError


class Pairs(NamedTuple):
    """Pairs of codes."""

    users: Codes
    items: Codes


def find_pairs(model: FittedModel, users: Id | Sequence[Id], items: Id | Sequence[Id]) -> Pairs:
    """Look up pairs of ids; a single one goes with every one of the other."""
    catalogue = model.catalogue
    user_codes = catalogue.users.codes(id_list(users))
    item_codes = catalogue.items.codes(id_list(items))
    if len(user_codes) != len(item_codes) and 1 not in (len(user_codes), len(item_codes)):
        raise DataError(
            f"{len(user_codes):,} users and {len(item_codes):,} items do not make pairs: give as "
            "many of each"
        )
    return Pairs(*np.broadcast_arrays(user_codes, item_codes))


def predicted_array(model: FittedModel, pairs: Pairs, raw: bool) -> Float32s:
    """Predict the ratings of pairs; see `Model.predict`."""
    return model.score_pairs(*pairs) if raw else predicted_ratings(model, *pairs)


def predicted_table(model: FittedModel, pairs: Pairs, raw: bool) -> pl.DataFrame:
    """Predict the ratings of pairs, with their ids; see `Model.predict`."""
    catalogue, ratings = model.catalogue, predicted_array(model, pairs, raw)
    columns = [catalogue.users.names(pairs.users), catalogue.items.names(pairs.items)]
    columns += [pl.Series(name, ratings[:, k]) for k, name in enumerate(catalogue.aspects)]
    return pl.DataFrame(columns)


def predicted_ratings(model: FittedModel, users: Codes, items: Codes) -> Float32s:
    """Return predicted ratings on the scale of the training ratings."""
    return ratings_of_scores(model, users, model.score_pairs(users, items))


def ratings_of_scores(model: FittedModel, users: Codes, scores: Float32s) -> Float32s:
    """Return predicted ratings on the scale of the training ratings, from the scores of pairs."""
    ratings = np.clip(model.calibration(users, scores), 1, 5)
    return within_scale(ratings, model.catalogue.scale).astype(np.float32)


def training_scale_ratings(model: FittedModel, users: Codes, items: Codes) -> Float32s:
    """Return predicted ratings on the training scale 1–5, clipped to it."""
    return np.clip(model.calibration(users, model.score_pairs(users, items)), 1, 5)


def rating_differences(model: FittedModel, users: Codes, first: Codes, second: Codes) -> Floats:
    """Return the differences of calibrated ratings, n × K, on the scale of the ratings.

    They are not clipped: two items at the end of the scale still have an order.
    """
    raw = model.score_pairs(users, first) - model.score_pairs(users, second)
    scale = model.catalogue.scale
    on_training_scale = model.calibration.slope * raw
    return from_training_scale(on_training_scale, scale) - from_training_scale(0 * raw, scale)


def scale_stretch(model: FittedModel) -> Floats:
    """Return how many units of its own scale a unit of the training scale is, per aspect."""
    scale = model.catalogue.scale
    zero, one = (from_training_scale(np.full(len(scale), x), scale) for x in (0.0, 1.0))
    return one - zero
