"""Accuracy of predicted pairwise orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.metrics.base import row_users, sum_per_user
from dmrank.support.arrays import Floats
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class PairAccuracy(NamedTuple):
    """Share of right orders: of each user, and of all orders together.

    Attributes
    ----------
    per_user
        One share per user, NaN for a user without an observed order.
    pooled
        Share over all users' orders, as in the paper; NaN if there is none.
    """

    per_user: Floats
    pooled: float

    @property
    def mean(self) -> float:
        """The mean share of the users that have an observed order; NaN if there is none."""
        known = self.per_user[~np.isnan(self.per_user)]
        return float(known.mean()) if len(known) else float("nan")


def pair_accuracy(observed: ArrayLike, predicted: ArrayLike, pointer: ArrayLike) -> PairAccuracy:
    r"""Count how often the predicted order of two items is the observed one (paper 4.3).

    .. math::
        \frac{\sum_{(i,j)} \sum_k 1[(r_{ik} - r_{jk})(\hat r_{ik} - \hat r_{jk}) > 0]}
             {\sum_{(i,j)} \sum_k 1[r_{ik} - r_{jk} \ne 0]}

    An observed tie asks for no order; a predicted tie is a wrong one.

    Parameters
    ----------
    observed
        Observed differences r_i − r_j, of shape (pairs,) or (pairs, K); NaN where the aspect of
        either item is unknown.
    predicted
        Predicted differences, of the same shape.
    pointer
        The pairs of user u are those from pointer[u] to pointer[u+1].

    Returns
    -------
    PairAccuracy
        Per user and pooled.

    Examples
    --------
    Two pairs of a first user, one of a second:

    >>> accuracy = pair_accuracy([2.0, -1.0, 1.0], [0.4, 0.1, 0.2], pointer=[0, 2, 3])
    >>> print(accuracy.per_user, accuracy.mean, round(accuracy.pooled, 3))
    [0.5 1. ] 0.75 0.667
    """
    observed = np.asarray(observed, dtype=np.float64)
    predicted = np.asarray(predicted, dtype=np.float64)
    users, n_users = row_users(pointer)
    if observed.shape != predicted.shape or len(observed) != len(users):
        raise DataError(
            f"observed of shape {observed.shape}, predicted of shape {predicted.shape} and a "
            f"pointer to {len(users)} pairs: give one row per pair"
        )
    ordered = np.nan_to_num(observed) != 0
    if np.isnan(predicted[ordered]).any():
        raise DataError("a predicted difference is NaN: the model gives no order there")
    right = ordered & (np.sign(observed) == np.sign(predicted))

    aspects = tuple(range(1, observed.ndim))
    orders = sum_per_user(ordered.sum(axis=aspects), users, n_users)
    rights = sum_per_user(right.sum(axis=aspects), users, n_users)
    shares = np.divide(rights, orders, out=np.full(n_users, np.nan), where=orders > 0)
    return PairAccuracy(shares, float(rights.sum() / orders.sum()) if orders.any() else np.nan)
