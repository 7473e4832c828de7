"""How the aspects of a user's rating of an item go together."""

from __future__ import annotations

import numpy as np

from dmrank.data.ids import Id
from dmrank.fitted.contract import FittedModel
from dmrank.support.arrays import Codes, Floats
from dmrank.support.errors import UnsupportedError


def correlation(model: FittedModel, user: Id, item: Id) -> Floats:
    """Return the correlation of the aspects of one rating, K × K; see `Model.correlation`."""
    users, items = model.catalogue.users, model.catalogue.items
    pair = np.array([users.code(user)]), np.array([items.code(item)])
    return correlations(covariances_of(model, *pair))[0]


def covariances_of(model: FittedModel, users: Codes, items: Codes) -> Floats:
    """Return Σ_ui of pairs, or refuse a model that knows none."""
    covariances = model.covariances(users, items)
    if covariances is None:
        raise UnsupportedError(
            f"{type(model).__name__} does not know how aspects vary together: use Hurdle or DMR"
        )
    return covariances


def correlations(covariances: Floats) -> Floats:
    """Return the correlation matrices of covariances, n × K × K.

    Examples
    --------
    >>> correlations(np.array([[[4.0, 1.0], [1.0, 1.0]]]))
    array([[[1. , 0.5],
            [0.5, 1. ]]])
    """
    deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / (deviations[:, :, None] * deviations[:, None, :])
