"""The validation value that early stopping looks at (design section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmrank.errors import DataError
from dmrank.metrics import Metric
from dmrank.models.scores import ItemLists, Question, Scorer
from dmrank.ranking import lists_of
from dmrank.ratings import Ratings
from dmrank.split import canonical_order


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
        for name in validation.aspects:
            if name not in train.aspects:
                raise DataError(
                    f"validation has the aspect {name!r}, which training lacks; training has "
                    + ", ".join(train.aspects)
                )
        if train.primary_aspect not in validation.aspects:
            raise DataError(
                f"validation lacks the aspect {train.primary_aspect!r}, by which the model is "
                "judged"
            )
        self.metric = metric
        users, items = _codes_in(train, validation)
        gains = validation.values[:, validation.aspect(train.primary_aspect)]
        candidates = np.bincount(train.item_codes, minlength=len(train.items)) > 0
        trained = np.diff(train.user_pointer) > 0
        usable = (users >= 0) & (items >= 0) & ~np.isnan(gains)
        usable[usable] &= trained[users[usable]] & candidates[items[usable]]
        users, items, gains = users[usable], items[usable], gains[usable]
        chosen = np.unique(users)
        if len(chosen) == 0:
            raise DataError(
                "validation has no rating of a user and an item that training knows: "
                "split one table into both"
            )
        if len(chosen) > most_users:
            rng = np.random.default_rng(seed)
            chosen = np.sort(rng.choice(chosen, size=most_users, replace=False))
        mine = np.isin(users, chosen)
        order = np.lexsort((items[mine], users[mine]))
        self.users = chosen
        pointer = np.searchsorted(users[mine][order], np.append(chosen, len(train.users)))
        seen = (train.user_pointer, train.item_codes)
        if also_seen is not None:
            seen = _union(train, also_seen)
        self.question = Question(
            items=ItemLists(pointer, items[mine][order]),
            gains=gains[mine][order],
            excluded=ItemLists(*lists_of(*seen, chosen)),
            candidates=candidates,
        )

    def __call__(self, scorer: Scorer, threads: int | None = None) -> float:
        """Return the mean metric of a model; its scorer knows all users."""
        return float(np.nanmean(self.per_user(scorer, threads)))

    def per_user(self, scorer: Scorer, threads: int | None = None) -> NDArray[np.float64]:
        """Return the metric of each user in `self.users`."""
        ranks = scorer.ranks(self.users, self.question, threads)
        return self.metric(ranks, self.question.gains, self.question.items.pointer)


def _union(one: Ratings, other: Ratings) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the items that each user rated in one or the other."""
    users = np.concatenate([one.user_codes, other.user_codes])
    items = np.concatenate([one.item_codes, other.item_codes])
    order, pointer = canonical_order(users, items, len(one.users))
    return pointer, items[order]


def _codes_in(train: Ratings, other: Ratings) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return users and items of each row of `other` as codes of `train`, −1 where unknown."""
    if other.users == train.users and other.items == train.items:
        return other.user_codes, other.item_codes
    users = np.array([train.users.find(name) for name in other.users], dtype=np.int64)
    items = np.array([train.items.find(name) for name in other.items], dtype=np.int64)
    return users[other.user_codes], items[other.item_codes]
