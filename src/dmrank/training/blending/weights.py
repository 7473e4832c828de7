"""Weights of a blend, learned from held-out ratings against items that were not rated.

A *contest* is a held-out item i of a user against an item j that the user did not rate:
x = φ_i − φ_j are the differences of their features, and r_i the ratings of i. Three losses:

- directional: the paper's criterion on features instead of factors. The difference of ratings
  d = r_i/5 (unrated counts as 0) is to be seen in the direction of the mean μ = W x, with Σ = I and
  the margin ξ (paper 3.2.1); missing aspects are marginalised. One row of W per aspect.
- logistic: −ln σ(w·x), as BPR has it. One w for all aspects.
- softmax: −ln of the probability that i is chosen before all of its j. One w for all aspects.

Contests come in blocks, those of 65,536 users each, and losses are added up in their order: here,
or on workers that have them in files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy import linalg, optimize, special

from dmrank.directional.families import Family
from dmrank.support.arrays import Floats, Int64s
from dmrank.support.shared_tables import SharedTable
from dmrank.support.workers import run_in_order
from dmrank.training.sums import sum_blocks

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


class ContestFiles(NamedTuple):
    """The contests of a block in files, by the tasks that have drawn them."""

    parts: tuple[tuple[SharedTable, SharedTable, SharedTable], ...]

    @classmethod
    def written(cls, folder: Path, contests: Contests) -> Self:
        """Write the contests of a task."""
        names = zip(Contests._fields, contests, strict=True)
        return cls((tuple(SharedTable.holding(folder / name, array) for name, array in names),))  # type: ignore[arg-type]

    def read(self) -> Contests:
        """Return the contests of all tasks as one block."""
        return join([Contests(*(table.read(slice(None)) for table in own)) for own in self.parts])


def join(parts: Sequence[Contests]) -> Contests:
    """Return contests one after the other."""
    found = [each for each in parts if len(each)] or list(parts[:1])
    before = np.cumsum([0, *map(len, found)])
    return Contests(
        np.concatenate([each.features for each in found]),
        np.concatenate([each.ratings for each in found]),
        np.concatenate([each.starts + start for each, start in zip(found, before, strict=False)]),
    )


def learn_weights(
    blocks: Sequence[Contests | ContestFiles],
    loss: Loss,
    family: Family,
    regularization: float,
) -> Floats:
    """Return the weights with the least loss, one row per aspect.

    Parameters
    ----------
    blocks : sequence of Contests or of ContestFiles
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
    >>> w = learn_weights([contests], "directional", Gaussian(0.2), 1e-3)
    >>> bool(w[0, 0] > 1 > abs(w[0, 1]))
    True
    """
    by = _By(loss, family)
    sources = [_Ready(each, by) if isinstance(each, Contests) else each for each in blocks]
    found = list(run_in_order(_moments, ((each, by) for each in sources)))
    aspects, total = found[0].aspects, sum_blocks(each.sums for each in found)
    moments = total.products / total.number
    rows = aspects if loss == "directional" else 1

    def objective(W: Floats) -> tuple[float, Floats]:
        total = sum_blocks(run_in_order(_evaluate, ((each, by, W) for each in sources)))
        return total.value / total.number, total.gradient / total.number

    W = _minimum(objective, rows, moments, regularization)
    return W if loss == "directional" else np.repeat(W, aspects, axis=0)


class BlockLoss(NamedTuple):
    """The loss of a block and its gradient, not yet divided by how many have a loss."""

    value: float
    gradient: Floats
    number: int


#: The loss of a block, of weights with a row per aspect (or one for all).
_Objective = Callable[[Floats], BlockLoss]


class _By(NamedTuple):
    """What to learn by."""

    loss: Loss
    family: Family

    def of(self, contests: Contests) -> _Objective:
        """Return the loss of a block of contests."""
        if self.loss == "directional":
            return _directional(contests, self.family)
        return _logistic(contests) if self.loss == "logistic" else _softmax(contests)


class _Ready:
    """A block in memory, and its loss, made once."""

    def __init__(self, contests: Contests, by: _By) -> None:
        self.contests, self.objective = contests, by.of(contests)


class _Moments(NamedTuple):
    """Σ x xᵀ of a block, and how many contests it has."""

    products: Floats
    number: int


class _Shape(NamedTuple):
    """What is known of a block before anything is learned."""

    sums: _Moments
    aspects: int


def _moments(source: _Ready | ContestFiles, by: _By) -> _Shape:
    contests = _ready(source, by).contests
    x = contests.features
    return _Shape(_Moments(x.T @ x, len(x)), contests.ratings.shape[1])


def _evaluate(source: _Ready | ContestFiles, by: _By, W: Floats) -> BlockLoss:
    return _ready(source, by).objective(W)


def _ready(source: _Ready | ContestFiles, by: _By) -> _Ready:
    return source if isinstance(source, _Ready) else _read(source, by)


@lru_cache(maxsize=1)
def _read(files: ContestFiles, by: _By) -> _Ready:
    """Return the block that a worker has read last: it is asked again and again."""
    return _Ready(files.read(), by)


def _minimum(
    objective: Callable[[Floats], tuple[float, Floats]],
    rows: int,
    moments: Floats,
    regularization: float,
) -> Floats:
    """Return the weights with the least penalised loss.

    Features are much alike, so that the loss is flat in some directions and steep in others. In
    V = W L with L Lᵀ = E[x xᵀ] + 2·regularization·I it is about equally curved in all, and a dozen
    evaluations do instead of hundreds.
    """
    size = len(moments)
    second_moments = moments + 2 * regularization * np.eye(size)
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

    def objective(W: Floats) -> BlockLoss:
        mu = x @ W.T
        if not complete:
            mu *= present
        # Ray statistics with Σ = I: s = d, t = μ (docs/dmr.md).
        rho = np.einsum("nk,nk->n", d, mu) / A
        off_ray = mu - rho[:, None] * d
        E = np.einsum("nk,nk->n", off_ray, off_ray)
        by = family.derivatives(E, A, rho, kept)
        of_mean = 2 * by.E[:, None] * off_ray + (by.rho / A)[:, None] * d
        value = -float(family.value(E, A, rho, kept).sum())
        return BlockLoss(value, -(of_mean.T @ x), len(x))

    return objective


def _logistic(contests: Contests) -> _Objective:
    x = contests.features

    def objective(W: Floats) -> BlockLoss:
        ahead = x @ W[0]
        gradient = -(special.expit(-ahead) @ x)
        return BlockLoss(float(np.logaddexp(0, -ahead).sum()), gradient[None], len(x))

    return objective


def _softmax(contests: Contests) -> _Objective:
    x, starts = contests.features, contests.starts
    of_row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(x))))

    def objective(W: Floats) -> BlockLoss:
        behind = -(x @ W[0])
        top = np.maximum(np.maximum.reduceat(behind, starts), 0.0)
        odds = np.exp(behind - top[of_row])
        total = np.add.reduceat(odds, starts) + np.exp(-top)
        value = float((top + np.log(total)).sum())
        gradient = -((odds / total[of_row]) @ x)
        return BlockLoss(value, gradient[None], len(starts))

    return objective
