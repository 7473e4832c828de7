"""The missing aspects of ratings from the given ones."""

from __future__ import annotations

import numpy as np
import polars as pl

from dmrank.answers.correlation import covariances_of
from dmrank.answers.given import given_ratings
from dmrank.answers.predict import scale_stretch
from dmrank.data.training_scale import to_training_scale, within_scale
from dmrank.directional.condition import condition
from dmrank.fitted.calibrating import blocks, definite_covariances
from dmrank.fitted.contract import FittedModel
from dmrank.support.arrays import Codes, Floats


def complete(model: FittedModel, partial_ratings: object) -> pl.DataFrame:
    """Predict the missing aspects of ratings; see `Model.complete`."""
    catalogue = model.catalogue
    given = given_ratings(partial_ratings, catalogue)
    users, items = catalogue.users.codes(given.users), catalogue.items.codes(given.items)
    mean, deviation = _conditional(
        model, users, items, to_training_scale(given.values, catalogue.scale)
    )
    known = ~np.isnan(given.values)
    ratings = within_scale(mean, catalogue.scale)
    columns = dict(zip(catalogue.aspects, np.where(known, given.values, ratings).T, strict=True))
    spread = (deviation * scale_stretch(model)).T
    columns |= {f"{name}_sd": spread[k] for k, name in enumerate(catalogue.aspects)}
    ids = [catalogue.users.names(users), catalogue.items.names(items)]
    return pl.DataFrame(ids).with_columns(
        pl.Series(name, column, dtype=pl.Float64) for name, column in columns.items()
    )


def _conditional(
    model: FittedModel, users: Codes, items: Codes, known: Floats
) -> tuple[Floats, Floats]:
    """Return mean and deviation of every aspect given the known ones, on the training scale."""
    calibration = model.calibration
    ratings = calibration(users, model.score_pairs(users, items))
    mean, deviation = np.empty(known.shape), np.empty(known.shape)
    for rows in blocks(len(users)):
        covariances = covariances_of(model, users[rows], items[rows])
        with definite_covariances(model):
            mean[rows], deviation[rows] = condition(
                ratings[rows], calibration.covariance_factor * covariances, known[rows]
            )
    return mean, deviation
