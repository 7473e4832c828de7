"""The validation value that early stopping looks at (docs/experiments.md, Protocol)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.metrics import Metric
from dmrank.ranking import RankQuery
from dmrank.support.arrays import Codes, Floats, Int64s
from dmrank.support.errors import DataError
from dmrank.training.held_out import HeldOut


class RanksItems(Protocol):
    """What ranks items for users, as `fitted.scorers` do."""

    def ranks(self, users: Codes, query: RankQuery, threads: int | None) -> Int64s:
        """Return the rank of each asked item in the full ranking of its user."""


class Validator:
    """Full ranking of at most so many seeded users by the primary aspect.

    Candidates are all items with a training row that the user has not rated in training. Users
    and items without a training row, and ratings without the primary aspect, are left out.

    Parameters
    ----------
    train, validation : Ratings
        The training ratings, and the held-out ones; they may have different id maps.
    metric : Metric
        What is averaged over users.
    most_users : int
        The most users to look at.
    seed : int
        Which users are taken, if there are more.
    also_seen : Ratings, optional
        Further ratings whose items are no candidates for their user (validation, when testing),
        with the id map of `train`.
    """

    def __init__(
        self,
        train: Ratings,
        validation: Ratings,
        metric: Metric,
        most_users: int,
        seed: int,
        also_seen: Ratings | None = None,
    ) -> None:
        held_out = HeldOut.from_ratings(train, validation, also_seen)
        if train.primary_aspect not in validation.aspects:
            raise DataError(
                f"validation lacks the aspect {train.primary_aspect!r}, by which the model is "
                "judged"
            )
        held_out = held_out.with_aspect(train.primary_aspect)
        if len(held_out.users) == 0:
            raise DataError(
                "validation has no rating of a user and an item that training knows: "
                "split one table into both"
            )
        held_out = held_out.sample(most_users, seed)
        self.metric = metric
        self.users = held_out.users
        self.query = held_out.query(train.primary_aspect)
        self.propensities = held_out.propensities

    def __call__(self, scorer: RanksItems, threads: int | None = None) -> float:
        """Return the mean metric of a model; its scorer knows all users."""
        return float(np.nanmean(self.per_user(scorer, threads)))

    def per_user(self, scorer: RanksItems, threads: int | None = None) -> Floats:
        """Return the metric of each user in `self.users`."""
        ranks = scorer.ranks(self.users, self.query, threads)
        gains, pointer = self.query.gains, self.query.items.pointer
        return self.metric(ranks, gains, pointer, propensities=self.propensities)
