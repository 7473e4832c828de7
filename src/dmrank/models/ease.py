"""EASE: a linear model from what a user rated to everything else (Steck, WWW 2019)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy.linalg import lapack

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.data.rows import group_rows
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import Profiles
from dmrank.models.base import Model
from dmrank.models.config import Config, Positive, Search
from dmrank.support.arrays import Array, Codes, Float32s, Int64s
from dmrank.support.errors import ConfigError, DataError

#: Above this the weights alone are larger than the memory of most machines.
MOST_ITEMS = 40_000
_ITEMS_PER_TASK = 64
_USERS_PER_TASK = 8
_PAIRS_PER_TASK = 4_096


class EASEConfig(Config):
    """Parameters of EASE; nothing in it is random."""

    regularization: Annotated[
        Positive, Search((30.0, 100.0, 300.0, 1_000.0, 3_000.0), log=True)
    ] = 300.0
    """Weight of the squared weights [λ]."""


class EASE(Model):
    """Linear regression of every item on all others; one score for all aspects.

    Minimises ‖X − XB‖² + λ‖B‖² with diag(B) = 0, where X_ui = 1 if u rated i and else 0. With
    P = (XᵀX + λI)⁻¹ the solution is B_ij = −P_ij / P_jj off the diagonal (Steck, Eq. 8), and
    score(u, j) = Σ_(i rated by u) B_ij. The values of the ratings play no part.

    B is dense, so that the number of items N is limited. It is computed in place and in single
    precision, 4 N² bytes: λ keeps P well conditioned, and no weight of 10,000 beers was off by
    more than 1e-6.

    Parameters
    ----------
    **parameters
        See :class:`EASEConfig`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> users, items = ["a", "a", "b", "b", "c", "c", "d"], ["x", "y", "x", "y", "v", "w", "v"]
    >>> ratings = Ratings.from_arrays(users, items, [[5]] * 7, aspects=["r"])
    >>> EASE(regularization=1).fit(ratings).recommend("d", n=1)["item"].to_list()
    ['w']
    """

    Config = EASEConfig
    config: EASEConfig

    def learn(self, fitting: Fitting) -> None:
        ratings, threads = fitting.ratings, self.config.threads
        items = len(ratings.items)
        if items > MOST_ITEMS:
            raise DataError(
                f"EASE of {items:,} items needs {4 * items**2 / 1e9:,.0f} GB of memory; it takes "
                f"up to {MOST_ITEMS:,} items: keep fewer with k_core, or use IALS"
            )
        rows, pointer = group_rows(ratings.item_codes, items)
        raters, seen = ratings.user_codes[rows], (ratings.user_pointer, ratings.item_codes)
        weights = np.zeros((items, items), dtype=np.float32)
        for_ranges(
            lambda start, stop: _count_together(start, stop, pointer, raters, *seen, weights),
            items,
            _ITEMS_PER_TASK,
            threads,
        )
        self._check_precision(weights)
        weights[np.diag_indices(items)] += self.config.regularization
        weights = _inverse(weights)
        diagonal = weights.diagonal().copy()
        for_ranges(
            lambda start, stop: _weigh(start, stop, diagonal, weights),
            items,
            _ITEMS_PER_TASK,
            threads,
        )
        self.arrays = {"weights": weights}

    def _check_precision(self, counts: Float32s) -> None:
        """Refuse a λ that the rounding of XᵀX would hide."""
        given = self.config.regularization
        least = float(np.finfo(np.float32).eps * counts.sum(axis=1).max())
        if given < least:
            raise ConfigError(
                f"regularization={given:g} is lost in the rounding of single precision: with "
                f"these ratings give at least {least:.1g}, better 1 or more"
            )

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array]:  # noqa: ARG002
        # Scores follow from what the catalogue says a user has seen.
        return {}

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        scores = np.zeros((len(users), len(self.catalogue.items)), dtype=np.float32)
        seen = (self.catalogue.seen_pointer, self.catalogue.seen_items)
        for_ranges(
            lambda start, stop: _score_all(
                start, stop, users, *seen, self.arrays["weights"], scores
            ),
            len(users),
            _USERS_PER_TASK,
            self.config.threads,
        )
        scores *= weights.sum()
        return scores

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        # What is broadcast from one id is no array that compiled code takes.
        users, items = np.array(users), np.array(items)
        scores = np.zeros(len(users), dtype=np.float32)
        seen = (self.catalogue.seen_pointer, self.catalogue.seen_items)
        for_ranges(
            lambda start, stop: _score_pairs(
                start, stop, users, items, *seen, self.arrays["weights"], scores
            ),
            len(users),
            _PAIRS_PER_TASK,
            self.config.threads,
        )
        return np.repeat(scores[:, None], len(self.catalogue.aspects), axis=1)


def _inverse(matrix: Float32s) -> Float32s:
    """Return the inverse of a positive definite matrix, in its place; the upper triangle counts."""
    # LAPACK stores columns: the lower triangle of the transpose is our upper one.
    columns, failed = lapack.spotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
    if not failed:
        columns, failed = lapack.spotri(columns, lower=True, overwrite_c=True)
    if failed:
        raise DataError("XᵀX + λI has no inverse in single precision: raise regularization")
    return columns.T


@cached
def _count_together(
    start: int,
    stop: int,
    pointer: Int64s,
    raters: Codes,
    seen_pointer: Int64s,
    seen_items: Codes,
    counts: Float32s,
) -> None:
    """Count the users who rated both, for some items and all items: rows of XᵀX."""
    for item in range(start, stop):
        row = counts[item]
        for user in raters[pointer[item] : pointer[item + 1]]:
            for other in seen_items[seen_pointer[user] : seen_pointer[user + 1]]:
                row[other] += 1


@cached
def _weigh(start: int, stop: int, diagonal: Float32s, weights: Float32s) -> None:
    """Replace the upper triangle of P by B, for pairs whose first item is among some."""
    for i in range(start, stop):
        weights[i, i] = 0
        for j in range(i + 1, len(weights)):
            p = weights[i, j]
            weights[i, j] = -p / diagonal[j]
            weights[j, i] = -p / diagonal[i]


@cached
def _score_all(
    start: int,
    stop: int,
    users: Codes,
    seen_pointer: Int64s,
    seen_items: Codes,
    weights: Float32s,
    scores: Float32s,
) -> None:
    """Score all items for some users: rows of XB."""
    for n in range(start, stop):
        own = scores[n]
        for item in seen_items[seen_pointer[users[n]] : seen_pointer[users[n] + 1]]:
            row = weights[item]
            for j in range(len(own)):
                own[j] += row[j]


@cached
def _score_pairs(
    start: int,
    stop: int,
    users: Codes,
    items: Codes,
    seen_pointer: Int64s,
    seen_items: Codes,
    weights: Float32s,
    scores: Float32s,
) -> None:
    """Score pairs; those of one user in a row read each row of B together."""
    first = start
    while first < stop:
        user, last = users[first], first + 1
        while last < stop and users[last] == user:
            last += 1
        for item in seen_items[seen_pointer[user] : seen_pointer[user + 1]]:
            row = weights[item]
            for n in range(first, last):
                scores[n] += row[items[n]]
        first = last
