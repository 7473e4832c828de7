"""Pairs for estimating one user or item: drawn as in training, with everything else held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.profiles import Profile
from dmrank.support.arrays import Array, Arrays, Bools, Codes, Float32s, Floats

#: Predicts the ratings of users and items on the training scale.
RatingsOf = Callable[[Codes, Codes], Float32s]


@dataclass(frozen=True)
class Sampling:
    """How the second item of a pair is drawn; see `training.pairwise.settings.StepSettings`."""

    rated_share: float
    hard_negatives: int
    seed: int


class Factors(NamedTuple):
    """The arrays of a factor model."""

    users: Float32s
    items: Float32s
    aspects: Float32s
    offsets: Float32s

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Factors:
        """Take them from what a model learned."""
        return cls(*(arrays[name] for name in cls._fields))

    def offset_of(self, items: Codes) -> Floats:
        """Return the offsets of items, 0 if there are none."""
        if len(self.offsets) == 0:
            return np.zeros((len(items), len(self.aspects)))
        return self.offsets[items].astype(np.float64)


class UserPairs(NamedTuple):
    """Pairs of items of one user.

    Attributes
    ----------
    first, second : int arrays, n
        Item codes i and j.
    difference : float array, n × K
        r_ui − r_uj, an unrated item counting as rated 0; 0 where not kept.
    kept : bool array, n × K
        Where both have a rating.
    """

    first: Codes
    second: Codes
    difference: Floats
    kept: Bools


def draw_user_pairs(
    profile: Profile,
    factors: Factors,
    x: Floats,
    count: int,
    sampling: Sampling,
    rng: np.random.Generator,
) -> UserPairs:
    """Draw about so many pairs of a user whose factors are x, each rating as often as any other."""
    n, items = len(profile.others), len(factors.items)
    own = np.repeat(np.arange(n), -(-count // n))
    second = rng.integers(items, size=(len(own), sampling.hard_negatives))
    if sampling.hard_negatives > 1:
        scores = factors.items[second] @ (x * factors.aspects.sum(axis=0))
        if len(factors.offsets):
            scores += factors.offsets.sum(axis=1)[second]
        scores[np.isin(second, profile.others)] = -np.inf
        second = np.take_along_axis(second, scores.argmax(axis=1)[:, None], axis=1)
    other = second[:, 0]
    if sampling.rated_share > 0 and n > 1:
        rated = rng.random(len(own)) < sampling.rated_share
        another = (own + rng.integers(1, n, size=len(own))) % n
        other = np.where(rated, profile.others[another], other)
    place = np.minimum(np.searchsorted(profile.others, other), n - 1)
    is_rated = profile.others[place] == other
    of_other = np.where(is_rated[:, None], profile.values[place], 0.0)
    return _with_direction(profile.others[own], other, profile.values[own] - of_other)


def _with_direction(first: Codes, second: Codes, difference: Array) -> UserPairs:
    """Leave out pairs without a direction."""
    kept = ~np.isnan(difference)
    filled = np.where(kept, difference, 0.0).astype(np.float64)
    useful = (filled != 0).any(axis=1)
    return UserPairs(first[useful], second[useful], filled[useful], kept[useful])


class ItemPairs(NamedTuple):
    """Pairs of one item with others, of many users.

    Attributes
    ----------
    users, others : int arrays, n
        The user and the other item of each pair.
    sign : float array, n
        1 where the item is the first of the pair, −1 where it is the second one.
    difference, kept
        See `UserPairs`.
    weight : float array, n
        How much each pair counts.
    """

    users: Codes
    others: Codes
    sign: Floats
    difference: Floats
    kept: Bools
    weight: Floats


def draw_item_pairs(
    profile: Profile,
    catalogue: Catalogue,
    ratings_of: RatingsOf,
    count: int,
    sampling: Sampling,
    rng: np.random.Generator,
) -> ItemPairs:
    """Draw pairs of an item, each kind counting as often as it comes up in training.

    In a pass over the training data an item that was rated n times is the first of n pairs. It is
    the second of n pairs of rated items, in the share of these, and the unrated second one as
    often as any other item. Ratings that a model does not store are those it predicts.
    """
    n, rated_share = len(profile.others), sampling.rated_share
    of_any = len(catalogue.seen_items) / len(catalogue.items)
    kinds = [
        (_against_unrated(profile, catalogue, count // 2, rng), (1 - rated_share) * n),
        (_against_rated(profile, catalogue, ratings_of, count // 2, rng), 2 * rated_share * n),
        (_as_unrated(profile, catalogue, ratings_of, count // 2, rng), (1 - rated_share) * of_any),
    ]
    parts = [
        pairs._replace(weight=np.full(len(pairs.users), total / max(len(pairs.users), 1)))
        for pairs, total in kinds
        if total > 0
    ]
    return ItemPairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _item_pairs(users: Codes, others: Codes, sign: float, difference: Array) -> ItemPairs:
    kept = ~np.isnan(difference)
    filled = np.where(kept, difference, 0.0).astype(np.float64)
    useful = (filled != 0).any(axis=1)
    signs, weights = np.full(useful.sum(), sign), np.ones(useful.sum())
    return ItemPairs(users[useful], others[useful], signs, filled[useful], kept[useful], weights)


def _against_unrated(
    profile: Profile, catalogue: Catalogue, count: int, rng: np.random.Generator
) -> ItemPairs:
    """Pair the item with items that its raters have not rated."""
    items = len(catalogue.items)
    own = np.repeat(np.arange(len(profile.others)), -(-count // len(profile.others)))
    users, others = profile.others[own].astype(np.int64), rng.integers(items, size=len(own))
    raters = np.unique(users)
    pointer, seen = catalogue.seen_by(raters)
    rated = np.isin(users * items + others, np.repeat(raters, np.diff(pointer)) * items + seen)
    unrated = ~rated & (others != profile.code)
    return _item_pairs(users[unrated], others[unrated], 1.0, profile.values[own][unrated])


def _against_rated(
    profile: Profile,
    catalogue: Catalogue,
    ratings_of: RatingsOf,
    count: int,
    rng: np.random.Generator,
) -> ItemPairs:
    """Pair the item with other items that its raters have rated."""
    own = np.repeat(np.arange(len(profile.others)), -(-count // len(profile.others)))
    users = profile.others[own]
    start, end = catalogue.seen_pointer[users], catalogue.seen_pointer[users + 1]
    any_rated = end > start
    place = start + (rng.random(len(users)) * (end - start)).astype(np.int64)
    others = catalogue.seen_items[np.minimum(place, len(catalogue.seen_items) - 1)]
    useful = any_rated & (others != profile.code)
    own, users, others = own[useful], users[useful], others[useful]
    return _item_pairs(users, others, 1.0, profile.values[own] - ratings_of(users, others))


def _as_unrated(
    profile: Profile,
    catalogue: Catalogue,
    ratings_of: RatingsOf,
    count: int,
    rng: np.random.Generator,
) -> ItemPairs:
    """Pair items that other users have rated with the item, which they have not."""
    rows = rng.integers(len(catalogue.seen_items), size=count)
    users = np.searchsorted(catalogue.seen_pointer, rows, side="right") - 1
    others = catalogue.seen_items[rows]
    useful = ~np.isin(users, profile.others) & (others != profile.code)
    users, others = users[useful], others[useful]
    return _item_pairs(users, others, -1.0, ratings_of(users, others))
