"""Held-out ratings as queries: the ranks of these items in the lists of their users."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dmrank.data.ids import Ids
from dmrank.data.ratings import Ratings
from dmrank.data.rows import canonical_order, count_codes, gather_rows, groups_of_rows, has_rows
from dmrank.data.training_scale import to_training_scale
from dmrank.ranking import ItemLists, RankQuery, lists_of
from dmrank.support.arrays import Bools, Codes, Float32s, Floats, Int64s
from dmrank.support.errors import DataError
from dmrank.training.propensities import popularity_propensities


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out ratings of the users and items that training knows (docs/experiments.md, Protocol).

    Attributes
    ----------
    users : int array
        Codes of the users that have any, ascending.
    items : ItemLists
        Their held-out items.
    values : float32 array
        Ratings of these items, one column per aspect of `aspects`, NaN where missing.
    aspects : tuple of str
        The aspects of the held-out ratings.
    excluded : ItemLists
        What each user rated before: no candidates.
    item_counts : int array
        Number of training rows of each item.
    left_out : int
        Held-out rows of users or items without a training row.
    """

    users: Codes
    items: ItemLists
    values: Float32s
    aspects: tuple[str, ...]
    excluded: ItemLists
    item_counts: Int64s
    left_out: int

    @classmethod
    def from_ratings(
        cls, train: Ratings, held_out: Ratings, also_seen: Ratings | None = None
    ) -> HeldOut:
        """Take what can be asked of a model trained on `train`.

        Parameters
        ----------
        train, held_out : Ratings
            They may have different id maps.
        also_seen : Ratings, optional
            Further ratings whose items are no candidates for their user (validation, when
            testing), with the id map of `train`.
        """
        for name in held_out.aspects:
            if name not in train.aspects:
                raise DataError(
                    f"held-out ratings have the aspect {name!r}, which training lacks; "
                    f"training has {', '.join(train.aspects)}"
                )
        users, items = codes_in(train.users, train.items, held_out)
        counts = count_codes(train.item_codes, len(train.items))
        trained = has_rows(train.user_pointer)
        known = (users >= 0) & (items >= 0)
        known[known] &= trained[users[known]] & (counts[items[known]] > 0)
        rows = np.flatnonzero(known)
        rows = rows[np.lexsort((items[rows], users[rows]))]
        chosen = np.unique(users[rows])
        pointer = np.searchsorted(users[rows], np.append(chosen, len(train.users)))
        return cls(
            users=chosen,
            items=ItemLists(pointer, items[rows].astype(np.int32)),
            values=gather_rows(held_out.values, rows),
            aspects=held_out.aspects,
            excluded=_seen_by(chosen, train, also_seen),
            item_counts=counts,
            left_out=len(held_out) - len(rows),
        )

    def select(self, users: Bools, rows: Bools) -> HeldOut:
        """Keep some users, and of their rows some."""
        row_user = groups_of_rows(self.items.pointer)
        kept = rows & users[row_user]
        sizes = np.bincount(row_user[kept], minlength=len(self.users))[users]
        which = np.flatnonzero(users)
        return HeldOut(
            users=self.users[users],
            items=ItemLists(np.concatenate([[0], np.cumsum(sizes)]), self.items.items[kept]),
            values=gather_rows(self.values, np.flatnonzero(kept)),
            aspects=self.aspects,
            excluded=lists_of(*self.excluded, which),
            item_counts=self.item_counts,
            left_out=self.left_out,
        )

    def part(self, start: int, stop: int) -> tuple[HeldOut, slice]:
        """Return a range of the users, and where their rows are."""
        pointer = self.items.pointer
        rows = slice(int(pointer[start]), int(pointer[stop]))
        some = replace(
            self,
            users=self.users[start:stop],
            items=self.items.of(start, stop),
            values=self.values[rows],
            excluded=self.excluded.of(start, stop),
        )
        return some, rows

    def sample(self, most_users: int, seed: int) -> HeldOut:
        """Keep at most so many users, drawn by a seed."""
        if len(self.users) <= most_users:
            return self
        rng = np.random.default_rng(seed)
        kept = np.zeros(len(self.users), dtype=np.bool_)
        kept[rng.choice(len(self.users), size=most_users, replace=False)] = True
        return self.select(kept, np.ones(len(self.values), dtype=np.bool_))

    def with_aspect(self, name: str) -> HeldOut:
        """Keep the rows with a rating on an aspect, and the users that have any."""
        rows = ~np.isnan(self.values[:, self.aspects.index(name)])
        row_user = groups_of_rows(self.items.pointer)
        users = np.bincount(row_user[rows], minlength=len(self.users)) > 0
        return self.select(users, rows)

    @property
    def candidates(self) -> Bools:
        """The items with a training row."""
        return self.item_counts > 0

    @property
    def propensities(self) -> Floats:
        """How likely each held-out item was to be met, by its popularity in training."""
        return popularity_propensities(self.item_counts)[self.items.items]

    @property
    def row_users(self) -> Codes:
        """The user of each held-out row."""
        return np.repeat(self.users, np.diff(self.items.pointer))

    def training_values(self, train: Ratings) -> Floats:
        """Return the ratings on the training scale, one column per aspect of training."""
        values = np.full((len(self.values), len(train.aspects)), np.nan)
        values[:, [train.aspect(name) for name in self.aspects]] = self.values
        return to_training_scale(values, train.scale)

    def query(self, name: str) -> RankQuery:
        """Return what to ask when ranking by an aspect; an item without a rating on it is none."""
        gains = self.values[:, self.aspects.index(name)]
        return RankQuery(self.items, gains, self.excluded, self.candidates)


def _seen_by(users: Codes, train: Ratings, also_seen: Ratings | None) -> ItemLists:
    """Return the items that each of some users rated in one or the other."""
    own = lists_of(train.user_pointer, train.item_codes, users)
    if also_seen is None:
        return own
    others = lists_of(also_seen.user_pointer, also_seen.item_codes, users)
    raters = np.concatenate([groups_of_rows(own.pointer), groups_of_rows(others.pointer)])
    items = np.concatenate([own.items, others.items])
    order, pointer = canonical_order(raters, items, len(users))
    return ItemLists(pointer, items[order])


def codes_in(users: Ids, items: Ids, ratings: Ratings) -> tuple[Codes, Codes]:
    """Return user and item of each rating as codes of an id map, −1 where it does not have it."""
    if ratings.users == users and ratings.items == items:
        return ratings.user_codes, ratings.item_codes
    of_users, of_items = users.find_all(ratings.users), items.find_all(ratings.items)
    return of_users[ratings.user_codes], of_items[ratings.item_codes]
