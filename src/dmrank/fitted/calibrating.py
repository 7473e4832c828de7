"""How a fitted model is calibrated: on training ratings, and on held-out ones if there are any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.directional.families import Family, Student
from dmrank.fitted.calibration import Calibration, covariance_factor, order_factor
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.score_regression import ScoredRatings, calibrate
from dmrank.support.arrays import Codes, Float32s, Floats, Int32s
from dmrank.support.errors import ConfigError
from dmrank.support.large_arrays import large_array
from dmrank.training.data import RowValues, ScaledRows
from dmrank.training.held_out import HeldOut
from dmrank.training.sums import blocks_of

#: So many ratings are enough for one number.
_ENOUGH_ROWS = 20_000
_LEAST_FACTOR = 1e-6
#: Vectors whose matrices are in memory at once.
_BLOCK = 8_192


def calibrate_model(
    model: FittedModel, ratings: Ratings, validation: Ratings | None
) -> Calibration:
    """Learn how the scores of a model become ratings, and Σ the spread of these."""
    _check_converged(model, ratings)
    calibration = _calibrate_scores(model, ratings, validation)
    if not has_covariances(model):
        return calibration
    users, items, values = (
        _all_ratings(ratings) if validation is None else held_out_ratings(ratings, validation)
    )
    order = np.random.default_rng(model.config.seed).permutation(len(users))
    rows = order[:_ENOUGH_ROWS]
    covariances = model.covariances(users[rows], items[rows])
    assert covariances is not None
    predicted = calibration(users[rows], model.score_pairs(users[rows], items[rows]))
    # Ratings that are all equal leave nothing to spread.
    spread = covariance_factor(values[rows] - predicted, covariances)
    spread = np.maximum(spread, np.float32(_LEAST_FACTOR))
    eta = degrees_of_freedom(model.family())
    orders = None
    if validation is not None:
        # Rows of one user, drawn in any order: each makes a pair with the next.
        rows = order[np.argsort(users[order], kind="stable")]
        same = users[rows[1:]] == users[rows[:-1]]
        first, second = rows[1:][same][:_ENOUGH_ROWS], rows[:-1][same][:_ENOUGH_ROWS]
        mean, deviation = pair_differences(
            model, calibration, users[first], items[first], items[second]
        )
        orders = order_factor(values[first] - values[second], mean / deviation, eta)
    if orders is None:
        orders = spread * _scale_of_variance(eta)
    return replace(calibration, covariance_factor=spread, order_factor=orders)


def _check_converged(model: FittedModel, ratings: Ratings) -> None:
    """Raise if scores or covariances have left the range of numbers."""
    rows = np.random.default_rng(model.config.seed).permutation(len(ratings))[:_ENOUGH_ROWS]
    users, items = ratings.user_codes[rows], ratings.item_codes[rows]
    with np.errstate(over="ignore", invalid="ignore"):  # told below, in one line
        found = model.score_pairs(users, items), model.covariances(users, items)
    if not all(np.isfinite(array).all() for array in found if array is not None):
        raise ConfigError(
            f"{type(model).__name__} has diverged, its scores are no numbers any more: try smaller "
            "parameters, such as a lower learning_rate"
        )


def _calibrate_scores(
    model: FittedModel, ratings: Ratings, validation: Ratings | None
) -> Calibration:
    n_users = len(ratings.users)
    if model.scores_are_ratings:
        return Calibration.identity(n_users, len(ratings.aspects))
    rows = _scored(model, *_all_ratings(ratings))
    held_out = None
    if validation is not None:
        held_out = _scored(model, *held_out_ratings(ratings, validation))
    return calibrate(rows, n_users, held_out)


def _all_ratings(ratings: Ratings) -> tuple[Codes, Int32s, RowValues]:
    """Return users, items and ratings on the training scale, made when they are asked for."""
    return ratings.user_codes, ratings.item_codes, ScaledRows(ratings, "marginalize")


def _scored(model: FittedModel, users: Codes, items: Codes, ratings: RowValues) -> ScoredRatings:
    scores = large_array(ratings.shape, np.float32)
    for rows in blocks_of(len(users)):
        scores[rows] = model.score_pairs(users[rows], items[rows])
    return ScoredRatings(users, scores, ratings)


def held_out_ratings(train: Ratings, validation: Ratings) -> tuple[Codes, Int32s, Float32s]:
    """Return users, items and ratings on the training scale of what training knows the ids of."""
    known = HeldOut.from_ratings(train, validation)
    values = known.training_values(train).astype(np.float32)
    return known.row_users, known.items.items, values


def pair_differences(
    model: FittedModel, calibration: Calibration, users: Codes, first: Codes, second: Codes
) -> tuple[Floats, Floats]:
    """Return calibrated means b_k (r̂_uik − r̂_ujk), and √Σ_uijkk, which is not calibrated."""
    raw = model.score_pairs(users, first) - model.score_pairs(users, second)
    deviation = np.empty(raw.shape)
    for rows in blocks(len(users)):
        covariances = model.pair_covariances(users[rows], first[rows], second[rows])
        assert covariances is not None
        deviation[rows] = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return np.asarray(calibration.slope * raw, dtype=np.float64), deviation


def has_covariances(model: FittedModel) -> bool:
    """Return whether a model knows how the aspects of a rating vary together."""
    anyone = np.zeros(1, dtype=np.int32)
    return model.covariances(anyone, anyone) is not None


@contextmanager
def definite_covariances(model: FittedModel) -> Iterator[None]:
    """Say in one line that the covariances of a model are none."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise ConfigError(
            f"covariances of this {type(model).__name__} are not positive definite: fit it again "
            "with a lower covariance_learning_rate"
        ) from None


def blocks(rows: int) -> list[slice]:
    """Return ranges of rows whose matrices are in memory at once."""
    return [slice(start, start + _BLOCK) for start in range(0, rows, _BLOCK)]


def degrees_of_freedom(family: Family) -> float | None:
    """Return η of the student family, None for the gaussian one."""
    return family.degrees_of_freedom if isinstance(family, Student) else None


def _scale_of_variance(eta: float | None) -> float:
    """Return the squared scale of a distribution with variance 1: 1, for Student's t (η−2)/η."""
    if eta is None or eta <= 2:
        return 1.0
    return (eta - 2) / eta
