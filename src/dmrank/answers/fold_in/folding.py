"""New users, new items and new ratings, without training again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from dmrank.answers.fold_in.grown import GrownArrays, grown_catalogue
from dmrank.answers.given import given_ratings
from dmrank.answers.predict import training_scale_ratings
from dmrank.data.ids import Ids
from dmrank.data.ratings import Side
from dmrank.data.training_scale import from_training_scale, to_training_scale
from dmrank.fitted.calibrating import definite_covariances
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.profiles import NewRows, Profiles, make_profiles
from dmrank.fitted.score_regression import ScoredRatings, user_offsets
from dmrank.support.arrays import Array, Float32s, Floats, Int64s
from dmrank.support.errors import ConfigError, DataError, UnsupportedError, did_you_mean

ModelT = TypeVar("ModelT", bound=FittedModel)


def fold_in(model: ModelT, new_ratings: object, of: Side) -> ModelT:
    """Return a model that knows new ratings as well; see `Model.fold_in`."""
    if of not in ("users", "items"):
        raise ConfigError(f"of={of!r}: {did_you_mean(str(of), ('users', 'items'))}")
    catalogue = model.catalogue
    given = given_ratings(new_ratings, catalogue)
    if of == "users":
        new, codes = _codes_with_new(catalogue.users, given.users.to_list())
        others = catalogue.items.codes(given.items)
    else:
        new, codes = _codes_with_new(catalogue.items, given.items.to_list())
        others = catalogue.users.codes(given.users)
    profiles = make_profiles(codes, others, given.values)
    _check_rated(profiles, of)
    on_training_scale = to_training_scale(profiles.values, catalogue.scale).astype(np.float32)
    profiles = replace(profiles, values=on_training_scale)
    whole = _with_old_ratings(model, profiles, of)
    with definite_covariances(model):
        learned = model.fold_in_users(whole) if of == "users" else model.fold_in_items(whole)
    if learned is None:
        raise UnsupportedError(
            f"{type(model).__name__} cannot fold in {of}: fit it again, or use Hurdle or DMR"
        )
    return _grown(model, of, new, profiles, whole.replaced_share, learned)


def _grown(
    model: ModelT,
    of: Side,
    new: list[str],
    profiles: Profiles,
    replaced_share: Floats,
    learned: Mapping[str, Array | NewRows],
) -> ModelT:
    """Return a copy with further rows; what did not change is shared."""
    catalogue, calibration = model.catalogue, model.calibration
    users, items = profiles.rows, profiles.others
    if of == "items":
        users, items = items, users
    values = from_training_scale(profiles.values, catalogue.scale).astype(np.float32)
    grown = model.with_state(
        grown_catalogue(catalogue, of, new, users, items, values),
        GrownArrays(
            model.arrays,
            {
                name: rows if isinstance(rows, NewRows) else NewRows(profiles.codes, rows)
                for name, rows in learned.items()
            },
        ),
        calibration,
    )
    if of == "users":
        scores = grown.score_pairs(users, items)
        offsets = _folded_offsets(model, profiles, replaced_share, scores)
        offset = NewRows(profiles.codes, offsets).put_into(calibration.offset)
        grown.calibration = replace(calibration, offset=offset)
    return grown


def _with_old_ratings(model: FittedModel, profiles: Profiles, of: Side) -> Profiles:
    """Add what was rated before, with the ratings that the model predicts for it."""
    catalogue = model.catalogue
    size = len(catalogue.users if of == "users" else catalogue.items)
    known = profiles.codes[profiles.codes < size]
    if len(known) == 0:
        return profiles
    if of == "users":
        pointer, others = catalogue.seen_by(known)
        codes = np.repeat(known, np.diff(pointer))
        users, items = codes, others
    else:
        rows = np.flatnonzero(np.isin(catalogue.seen_items, known))
        others = (np.searchsorted(catalogue.seen_pointer, rows, side="right") - 1).astype(np.int32)
        codes = catalogue.seen_items[rows]
        users, items = others, codes
    predicted = training_scale_ratings(model, users, items)
    # Of a repeated one the last counts: what is new.
    return make_profiles(
        np.concatenate([codes, profiles.rows]),
        np.concatenate([others, profiles.others]),
        np.concatenate([predicted, profiles.values]),
        np.concatenate([np.zeros(len(codes), dtype=np.bool_), profiles.given]),
    )


def _folded_offsets(
    model: FittedModel, profiles: Profiles, replaced_share: Floats, scores: Float32s
) -> Floats:
    """Return the calibration offset of each user, old ratings that stay counting as they did."""
    calibration, catalogue = model.calibration, model.catalogue
    before, counts = np.zeros(len(profiles)), np.zeros(len(profiles))
    known = np.flatnonzero(profiles.codes < len(catalogue.users))
    old = profiles.codes[known]
    before[known] = calibration.offset[old]
    if catalogue.evidence is not None:
        counts[known] = catalogue.evidence.user_counts[old].sum(axis=1)
        counts *= 1 - replaced_share
    if model.scores_are_ratings:
        return before
    own = np.repeat(np.arange(len(profiles)), profiles.counts)
    return user_offsets(
        ScoredRatings(own, scores, profiles.values),
        calibration.intercept,
        calibration.slope,
        before,
        counts,
    )


def _codes_with_new(ids: Ids, names: list[str]) -> tuple[list[str], Int64s]:
    """Return the names that are not known, in order, and a code for every name."""
    codes = np.array([ids.find(name) for name in names], dtype=np.int64)
    new = sorted({name for name, code in zip(names, codes, strict=True) if code < 0})
    code_of = {name: len(ids) + place for place, name in enumerate(new)}
    for row in np.flatnonzero(codes < 0):
        codes[row] = code_of[names[row]]
    return new, codes


def _check_rated(profiles: Profiles, of: Side) -> None:
    rated = (~np.isnan(profiles.values)).any(axis=1)
    if not np.logical_or.reduceat(rated, profiles.pointer[:-1]).all():
        raise DataError(f"one of the {of} has no rating on any aspect: there is nothing to fold in")
