"""Weights of a blend, learned from held-out ratings against items that were not rated.

A *contest* is a held-out item i of a user against an item j that the user did not rate:
x = φ_i − φ_j are the differences of their features, and r_i the ratings of i. Three losses:

- directional: the paper's criterion on features instead of factors. The difference of ratings
  d = r_i/5 (unrated counts as 0) is to be seen in the direction of the mean μ = W x, with Σ = I and
  the margin ξ (paper 3.2.1); missing aspects are marginalised. One row of W per aspect.
- logistic: −ln σ(w·x), as BPR has it. One w for all aspects.
- softmax: −ln of the probability that i is chosen before all of its j. One w for all aspects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, optimize, special

from dmrank.directional.families import Family
from dmrank.support.arrays import Floats, Int64s

Loss = Literal["directional", "logistic", "softmax"]
#: What ratings are divided by: the length of a direction that is as good as can be.
_BEST_RATING = 5.0
_MOST_ROUNDS = 200
#: Change of the loss, relative, and slope, below which there is nothing to gain.
_CONVERGED = 1e-12


class Contests(NamedTuple):
    """Held-out items against items that the user did not rate.

    Attributes
    ----------
    features : float array, n × F
        x of each contest.
    ratings : float array, n × K
        Ratings of the held-out item on the training scale 1–5, NaN where missing.
    starts : int64 array
        Where the contests of each held-out item begin, ascending.
    """

    features: Floats
    ratings: Floats
    starts: Int64s

    def __len__(self) -> int:
        return len(self.features)


def learn_weights(contests: Contests, loss: Loss, family: Family, regularization: float) -> Floats:
    """Return the weights with the least loss, one row per aspect.

    Parameters
    ----------
    contests : Contests
        What to learn from.
    loss : {"directional", "logistic", "softmax"}
        See the module.
    family : Family
        The density of the directional criterion, with its margin.
    regularization : float
        Weight of the squared weights beside the mean loss.

    Examples
    --------
    The first feature says who wins, the second nothing:

    >>> from dmrank.directional.families import Gaussian
    >>> features, ratings = np.array([[1.0, 1], [2, -1], [1, 0]]), np.full((3, 1), 4.0)
    >>> contests = Contests(features, ratings, np.arange(3))
    >>> w = learn_weights(contests, "directional", Gaussian(0.2), 1e-3)
    >>> bool(w[0, 0] > 1 > abs(w[0, 1]))
    True
    """
    aspects = contests.ratings.shape[1]
    if loss == "directional":
        return _minimum(_directional(contests, family), aspects, contests, regularization)
    one = _logistic(contests) if loss == "logistic" else _softmax(contests)
    return np.repeat(_minimum(one, 1, contests, regularization), aspects, axis=0)


#: Mean loss and its gradient, of weights with a row per aspect (or one for all).
_Objective = Callable[[Floats], tuple[float, Floats]]


def _minimum(objective: _Objective, rows: int, contests: Contests, regularization: float) -> Floats:
    """Return the weights with the least penalised loss.

    Features are much alike, so that the loss is flat in some directions and steep in others. In
    V = W L with L Lᵀ = E[x xᵀ] + 2·regularization·I it is about equally curved in all, and a dozen
    evaluations do instead of hundreds.
    """
    x = contests.features
    size = x.shape[1]
    second_moments = x.T @ x / len(x) + 2 * regularization * np.eye(size)
    whitener = linalg.inv(linalg.cholesky(second_moments, lower=True))

    def penalised(flat: Floats) -> tuple[float, Floats]:
        W = flat.reshape(rows, size) @ whitener
        value, gradient = objective(W)
        gradient = (gradient + 2 * regularization * W) @ whitener.T
        return value + regularization * float(np.vdot(W, W)), gradient.ravel()

    found = optimize.minimize(
        penalised,
        np.zeros(rows * size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MOST_ROUNDS, "ftol": _CONVERGED, "gtol": _CONVERGED},
    )
    return np.asarray(found.x).reshape(rows, size) @ whitener


def _directional(contests: Contests, family: Family) -> _Objective:
    present = ~np.isnan(contests.ratings)
    d = np.where(present, contests.ratings, 0.0) / _BEST_RATING
    A = np.einsum("nk,nk->n", d, d)
    rated = A > 0
    x, d, A, present = contests.features[rated], d[rated], A[rated], present[rated]
    kept = present.sum(axis=1)
    complete = bool(present.all())

    def objective(W: Floats) -> tuple[float, Floats]:
        mu = x @ W.T
        if not complete:
            mu *= present
        # Ray statistics with Σ = I: s = d, t = μ (docs/dmr.md).
        rho = np.einsum("nk,nk->n", d, mu) / A
        off_ray = mu - rho[:, None] * d
        E = np.einsum("nk,nk->n", off_ray, off_ray)
        by = family.derivatives(E, A, rho, kept)
        of_mean = 2 * by.E[:, None] * off_ray + (by.rho / A)[:, None] * d
        value = -float(family.value(E, A, rho, kept).mean())
        return value, -(of_mean.T @ x) / len(x)

    return objective


def _logistic(contests: Contests) -> _Objective:
    x = contests.features

    def objective(W: Floats) -> tuple[float, Floats]:
        ahead = x @ W[0]
        gradient = -(special.expit(-ahead) @ x) / len(x)
        return float(np.logaddexp(0, -ahead).mean()), gradient[None]

    return objective


def _softmax(contests: Contests) -> _Objective:
    x, starts = contests.features, contests.starts
    of_row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(x))))

    def objective(W: Floats) -> tuple[float, Floats]:
        behind = -(x @ W[0])
        top = np.maximum(np.maximum.reduceat(behind, starts), 0.0)
        odds = np.exp(behind - top[of_row])
        total = np.add.reduceat(odds, starts) + np.exp(-top)
        value = float((top + np.log(total)).mean())
        gradient = -((odds / total[of_row]) @ x) / len(starts)
        return value, gradient[None]

    return objective
