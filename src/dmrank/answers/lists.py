"""What every list needs: for whom, which items may be on it, and lists as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from dmrank.answers.predict import predicted_ratings
from dmrank.data.ids import Id, id_list
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.ranking import ItemLists, TopN
from dmrank.support.arrays import Bools, Codes, Float32s, Int32s
from dmrank.support.errors import ConfigError, DataError, UnknownUserError

#: Items for every user, or a list of items for each.
Candidates: TypeAlias = Iterable[Id] | Mapping[Id, Iterable[Id]]

OnUnknown: TypeAlias = Literal["raise", "popular"]


def check_length(n: object) -> None:
    """Refuse a length of lists that is no whole number from 1 on."""
    if not isinstance(n, int | np.integer) or n < 1:
        raise ConfigError(f"n={n!r}: ask for at least one item, by a whole number")


def known_users(
    catalogue: Catalogue, names: Sequence[Id], on_unknown: OnUnknown = "raise"
) -> Int32s:
    """Return the codes of users; one without a training rating is an error, or −1."""
    if on_unknown == "raise":
        codes = catalogue.users.codes(names)
    else:
        codes = catalogue.users.find_many(names)
    rated = catalogue.seen_pointer[codes + 1] > catalogue.seen_pointer[codes]
    if on_unknown == "raise" and not rated.all():
        name = names[int(np.flatnonzero(~rated)[0])]
        raise UnknownUserError(
            f"user {name!r} has no training rating, so that the model knows nothing of them: "
            "on_unknown='popular' lists what is popular"
        )
    return np.where((codes >= 0) & rated, codes, np.int32(-1))


@dataclass(frozen=True, eq=False)
class Filters:
    """Filters of one call, after the ids in them were looked up.

    Attributes
    ----------
    allowed : bool array or None
        The items that may be listed for anybody; None: all.
    candidates : mapping of user id to item ids, or None
        By user, the items that may be listed for that user alone.
    exclude_seen : bool
        Whether a user's training items are left out.
    """

    allowed: Bools | None = None
    candidates: Mapping[Id, Iterable[Id]] | None = None
    exclude_seen: bool = True

    @classmethod
    def from_ids(
        cls,
        catalogue: Catalogue,
        exclude_seen: bool,
        allow: Iterable[Id] | None = None,
        block: Iterable[Id] | None = None,
        candidates: Candidates | None = None,
    ) -> Filters:
        """Look the ids up; one that is repeated counts once."""
        own = candidates if isinstance(candidates, Mapping) else None
        allowed: Bools | None = None
        for names in (allow, None if own is not None else candidates):
            if names is not None:
                mask = _mask(catalogue, names)
                allowed = mask if allowed is None else allowed & mask
        if block is not None:
            blocked = _mask(catalogue, block)
            allowed = ~blocked if allowed is None else allowed & ~blocked
        return cls(allowed, own, exclude_seen)

    def without_seen(self) -> Filters:
        """Return the same filters for users who have seen nothing."""
        return replace(self, exclude_seen=False)

    def excluded(self, catalogue: Catalogue, users: Codes) -> ItemLists:
        """Return what is left out for each of some users."""
        if self.exclude_seen:
            return catalogue.seen_by(users)
        return ItemLists(np.zeros(len(users) + 1, dtype=np.int64), np.empty(0, dtype=np.int32))

    def lists(self, catalogue: Catalogue, names: Sequence[Id], seen: ItemLists) -> ItemLists:
        """Return the candidates of each of some users, by name, that may be listed."""
        assert self.candidates is not None
        mask = (
            catalogue.rated_items if self.allowed is None else catalogue.rated_items & self.allowed
        )
        lists = []
        for row, name in enumerate(names):
            if name not in self.candidates:
                raise DataError(f"candidates have no list for user {name!r}: give one, or []")
            items = np.unique(catalogue.items.codes(id_list(self.candidates[name])))
            items = np.setdiff1d(items, seen.of(row, row + 1).items, assume_unique=True)
            lists.append(items[mask[items]])
        ends = np.cumsum([0, *(len(items) for items in lists)], dtype=np.int64)
        return ItemLists(ends, np.concatenate([np.empty(0, dtype=np.int32), *lists]))


def _mask(catalogue: Catalogue, names: Iterable[Id]) -> Bools:
    mask = np.zeros(len(catalogue.items), dtype=np.bool_)
    mask[catalogue.items.codes(id_list(names))] = True
    return mask


def list_table(
    model: FittedModel,
    names: Sequence[Id],
    users: Codes,
    best: TopN,
    *,
    aspects: bool = False,
    personal: bool = False,
) -> pl.DataFrame:
    """Return the lists of users, one row per item.

    Parameters
    ----------
    model : FittedModel
        What made the lists.
    names : sequence of str or int
        Ids of the users.
    users : int array
        Their codes, −1 for one that the model does not know.
    best : TopN
        Their lists.
    aspects : bool
        Add a column per aspect with the predicted rating, or the mean of the item's ratings for a
        user that is not known.
    personal : bool
        Add a column that says whether the user is known.
    """
    catalogue = model.catalogue
    row, place = np.nonzero(best.items >= 0)
    items = best.items[row, place]
    columns = [
        _user_column(catalogue, names, users)[row],
        pl.Series("rank", place + 1, dtype=pl.Int32),
        catalogue.items.names(items),
        pl.Series("score", best.scores[row, place], dtype=pl.Float32),
    ]
    if catalogue.item_names is not None:
        columns.append(catalogue.item_names[items].alias("item_name"))
    if personal:
        columns.append(pl.Series("personal", users[row] >= 0))
    if aspects:
        ratings = _ratings(model, users[row], items)
        taken = {column.name for column in columns}
        for k, name in enumerate(catalogue.aspects):
            shown = f"{name}_rating" if name in taken else name
            columns.append(pl.Series(shown, ratings[:, k], nan_to_null=True))
    return pl.DataFrame(columns)


def _user_column(catalogue: Catalogue, names: Sequence[Id], users: Codes) -> pl.Series:
    known = bool((users >= 0).all())
    return catalogue.users.names(users) if known else catalogue.users.column(names)


def _ratings(model: FittedModel, users: Codes, items: Codes) -> Float32s:
    known, evidence = users >= 0, model.catalogue.evidence
    ratings = np.full((len(users), len(model.catalogue.aspects)), np.nan, dtype=np.float32)
    if known.any():
        ratings[known] = predicted_ratings(model, users[known], items[known])
    if evidence is not None:
        ratings[~known] = evidence.item_means[items[~known]]
    return ratings
