"""One ranking that respects all aspects together: by the probability to be better on every one.

The directional criterion models the difference D of a user's rating vectors of two items, with the
mean μ and the covariance Σ_ui + Σ_uj. An item is better on all aspects at once if D > 0 in every
entry. Against J, any item of the catalogue, that has the probability

    p_ui = P(R_ui > R_uJ on every aspect),  J uniform,

and `by="all"` ranks by it. R_uJ, a mixture over items, is taken as one normal vector with the mean
and covariance that it has over a sample of items, so that D is normal, and p_ui is the probability
of an orthant: no pair of items is ever looked at.

A mean of aspects lets a great location make up for dirt, and a probability of each aspect alone
counts two aspects that always go together twice. This does neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmrank.models.hooks import Hooks
from dmrank.models.scores import Codes
from dmrank.ranking import TopN, best_of_lists
from dmrank.ranking.orthant import log_all_positive

#: So many items of a user, the best by the mean over aspects, are ranked by the probability.
SHORTLIST = 200
#: So many items stand for the catalogue.
_COMPETITORS = 128
#: Users whose covariances are in memory at once.
_USERS_AT_ONCE = 32

Floats = NDArray[np.float64]


class Competitor(NamedTuple):
    """The rating vector R_uJ of any item: mean (users × K) and covariance (users × K × K)."""

    mean: Floats
    covariance: Floats


def rank_by_all(model: Hooks, users: Codes, shortlists: NDArray[np.int32], n: int) -> TopN:
    """Rank short-listed items by the probability to be better than any item on every aspect.

    Parameters
    ----------
    model : Hooks
        A fitted model. One without covariances is taken to have independent aspects, each with the
        variance that its scores have over items.
    users : int array
        Codes of users.
    shortlists : int32 array, users × items
        Codes of items, filled up with −1.
    n : int
        How many items per user.

    Returns
    -------
    TopN
        Its scores are the probabilities.
    """
    competitors = _competitors(model)
    parts = [np.empty(0)]
    for start in range(0, len(users), _USERS_AT_ONCE):
        rows = slice(start, start + _USERS_AT_ONCE)
        parts.append(_log_dominance(model, users[rows], shortlists[rows], competitors))
    found = shortlists >= 0
    ends = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    best = best_of_lists(np.concatenate(parts), ends, shortlists[found], n)
    return TopN(best.items, np.where(best.items >= 0, np.exp(best.scores), -np.inf))


def _competitors(model: Hooks) -> NDArray[np.int32]:
    """Draw the items that stand for the catalogue, the same for every user and call."""
    rated = np.flatnonzero(model.catalogue.rated_items).astype(np.int32)
    if len(rated) <= _COMPETITORS:
        return rated
    return np.random.default_rng(0).choice(rated, size=_COMPETITORS, replace=False)


def _log_dominance(
    model: Hooks, users: Codes, shortlists: NDArray[np.int32], competitors: NDArray[np.int32]
) -> Floats:
    """Return ln p_ui of every short-listed item, list by list."""
    row, place = np.nonzero(shortlists >= 0)
    items = shortlists[row, place]
    ratings = _ratings(model, users[row], items)
    competitor = _competitor(model, users, competitors)
    own = _spread(model, users[row], items)
    if own is None:
        # Without Σ: independent aspects, as uncertain as the scores of items are different.
        variance = np.diagonal(competitor.covariance, axis1=1, axis2=2)
        covariance = 2 * (np.eye(ratings.shape[1]) * variance[:, None])[row]
    else:
        covariance = own + competitor.covariance[row]
    # An aspect with one score for all items decides nothing.
    covariance = covariance + 1e-9 * np.eye(ratings.shape[1])
    return log_all_positive(ratings - competitor.mean[row], covariance, model.config.threads)


def _competitor(model: Hooks, users: Codes, items: NDArray[np.int32]) -> Competitor:
    row, item = np.repeat(users, len(items)), np.tile(items, len(users))
    ratings = _ratings(model, row, item).reshape(len(users), len(items), -1)
    mean = ratings.mean(axis=1)
    centred = ratings - mean[:, None]
    covariance = centred.transpose(0, 2, 1) @ centred / len(items)
    own = _spread(model, row, item)
    if own is not None:
        covariance += own.reshape(len(users), len(items), *covariance.shape[1:]).mean(axis=1)
    return Competitor(mean, covariance)


def _ratings(model: Hooks, users: Codes, items: Codes) -> Floats:
    """Return ratings up to what is the same for all items of a user."""
    slope = model._calibration.slope.astype(np.float64)
    return slope * model._raw_scores(users, items)


def _spread(model: Hooks, users: Codes, items: Codes) -> Floats | None:
    """Return Σ_ui, calibrated for the probability of an order."""
    covariances = model._covariances(users, items)
    return None if covariances is None else model._calibration.order_factor * covariances
