"""One ranking that respects all aspects together: by the probability to be better on every one.

The directional criterion models the difference D = R_ui − R_uj of a user's rating vectors of two
items as normal, with the mean r̂_ui − r̂_uj and the covariance Σ_ui + Σ_uj (paper 3.2). An item is
better on all aspects at once if D > 0 in every entry. Against J, any item of the catalogue, that
has the probability

    p_ui = P(R_ui > R_uJ on every aspect),  J uniform,

and `by="all"` ranks by it. R_uJ, a mixture over items, is taken as one normal vector with the mean
and covariance that it has over a sample of items, so that D is normal, and p_ui is the probability
of an orthant: no pair of items is ever looked at.

Mean and covariance are those of the criterion, in which an unrated item counts as rated 0: to be
better is to be chosen, and liked. (Calibrated ones speak of the ratings of what was chosen alone,
and tell little of an item that nobody has chosen yet.)

A mean of aspects lets a great location make up for dirt, and a probability of each aspect alone
counts two aspects that always go together twice. This does neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.directional.orthant import log_all_positive
from dmrank.fitted.contract import FittedModel
from dmrank.ranking import TopN, best_of_lists
from dmrank.support.arrays import Codes, Floats, Int32s

#: So many items of a user, the best by the mean over aspects, are ranked by the probability.
SHORTLIST = 200
#: So many items stand for the catalogue.
_COMPETITORS = 128
#: Users whose covariances are in memory at once.
_USERS_AT_ONCE = 32


class Competitor(NamedTuple):
    """The rating vector R_uJ of any item: mean (users × K) and covariance (users × K × K)."""

    mean: Floats
    covariance: Floats


def rank_by_all(model: FittedModel, users: Codes, shortlists: Int32s, n: int) -> TopN:
    """Rank short-listed items by the probability to be better than any item on every aspect.

    Parameters
    ----------
    model : FittedModel
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


def _competitors(model: FittedModel) -> Int32s:
    """Draw the items that stand for the catalogue, the same for every user and call."""
    rated = np.flatnonzero(model.catalogue.rated_items).astype(np.int32)
    if len(rated) <= _COMPETITORS:
        return rated
    return np.random.default_rng(0).choice(rated, size=_COMPETITORS, replace=False)


def _log_dominance(
    model: FittedModel, users: Codes, shortlists: Int32s, competitors: Int32s
) -> Floats:
    """Return ln p_ui of every short-listed item, list by list."""
    row, place = np.nonzero(shortlists >= 0)
    items = shortlists[row, place]
    scores = model.score_pairs(users[row], items).astype(np.float64)
    competitor = _competitor(model, users, competitors)
    own = model.covariances(users[row], items)
    if own is None:
        # Without Σ: independent aspects, as uncertain as the scores of items are different.
        variance = np.diagonal(competitor.covariance, axis1=1, axis2=2)
        covariance = 2 * (np.eye(scores.shape[1]) * variance[:, None])[row]
    else:
        covariance = own + competitor.covariance[row]
    # An aspect with one score for all items decides nothing.
    covariance = covariance + 1e-9 * np.eye(scores.shape[1])
    return log_all_positive(scores - competitor.mean[row], covariance, model.config.threads)


def _competitor(model: FittedModel, users: Codes, items: Int32s) -> Competitor:
    row, item = np.repeat(users, len(items)), np.tile(items, len(users))
    scores = model.score_pairs(row, item).astype(np.float64).reshape(len(users), len(items), -1)
    mean = scores.mean(axis=1)
    centred = scores - mean[:, None]
    covariance = centred.transpose(0, 2, 1) @ centred / len(items)
    own = model.covariances(row, item)
    if own is not None:
        covariance += own.reshape(len(users), len(items), *covariance.shape[1:]).mean(axis=1)
    return Competitor(mean, covariance)
