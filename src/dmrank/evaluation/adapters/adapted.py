"""Scores that were not made by dmrank: known by id, and bound to the codes of a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dmrank.data.ids import Ids
from dmrank.data.ratings import Ratings
from dmrank.data.rows import canonical_order, has_rows
from dmrank.fitted.cache import Cache
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.fitting import Fitting
from dmrank.models.config import Config
from dmrank.support.arrays import AnyFloats, Bools, Codes, Float32s, Int64s
from dmrank.support.errors import DataError, UnsupportedError
from dmrank.support.progress import say

#: So many scores are kept for the next aspect, which is ranked by the same ones.
_MOST_KEPT = 1 << 25


#: So many scores are asked for at once: a function gets them with the ids of every pair.
_MOST_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class AdaptedScores:
    """Scores of some users and items, one per pair, that rank by every aspect alike.

    Attributes
    ----------
    name : str
        What a report calls them.
    users, items : sequences
        Ids, in the order in which the scores have them.
    score : callable
        From positions of users to a block of scores, users × all items; minus infinity where
        there is no score.
    items_may_lack : bool
        Whether it is in the nature of the thing that it does not name every item, as a list.
    seen : pair of int arrays, optional
        Positions of users and items of the training ratings, if they are known.
    """

    name: str
    users: Sequence[object]
    items: Sequence[object]
    score: Callable[[Int64s], AnyFloats]
    items_may_lack: bool = False
    seen: tuple[Codes, Codes] | None = None

    def on(self, train: Ratings, asked: Codes) -> FittedModel:
        """Return the scores as some users are asked about, by the codes of training ratings.

        What has no score comes last in every list. It is said how many of these users and of the
        items with a training row that is; none but such is an error.
        """
        users = _positions(train.users, self.users, self.name)
        items = _positions(train.items, self.items, self.name)
        trained = has_rows(train.user_pointer)
        self._check_known("users", users[np.unique(asked[trained[asked]])] < 0)
        self._check_known("items", items[np.unique(train.item_codes)] < 0)
        seen = None if self.seen is None else _recoded(self.seen, users, items)
        return BoundScores(train, _Blocks(self.name, self.score, users, items), seen)

    def _check_known(self, kind: str, lacks: Bools) -> None:
        if len(lacks) and lacks.all():
            raise DataError(
                f"{self.name} knows none of the {kind} of the split: its ids are not those of the "
                "ratings"
            )
        if lacks.any() and not (kind == "items" and self.items_may_lack):
            say(
                f"{self.name} has no score for {int(lacks.sum()):,} of {len(lacks):,} {kind}: what "
                "it does not score comes last"
            )


@dataclass(frozen=True, eq=False)
class AdaptedFunction:
    """A function from ids of users and items, pair by pair, to scores."""

    name: str
    function: Callable[..., object]

    def on(self, train: Ratings, asked: Codes) -> FittedModel:
        """Return the scores as they are asked about, by the codes of training ratings."""
        del asked  # a function is asked whoever it is
        trained = np.unique(train.item_codes)
        items = np.full(len(train.items), -1)
        items[trained] = np.arange(len(trained))
        named = train.items.names(trained).to_numpy()

        def score(users: Int64s) -> AnyFloats:
            of_pairs = np.repeat(train.users.names(users).to_numpy(), len(named))
            scores = self.function(of_pairs, np.tile(named, len(users)))
            found = np.asarray(scores, dtype=np.float64)
            if found.shape != of_pairs.shape:
                raise DataError(
                    f"{self.name} was asked for {len(of_pairs):,} pairs and gave an array of shape "
                    f"{found.shape}: return one score per pair"
                )
            return found.reshape(len(users), len(named))

        users = np.arange(len(train.users))
        return BoundScores(train, _Blocks(self.name, score, users, items), None)


#: What `dmrank.adapt` returns: it stands in `evaluate` and pairs beside our models.
Adapted: TypeAlias = AdaptedScores | AdaptedFunction


class BoundScores(FittedModel):
    """Scores that rank by every aspect alike, asked by the codes of training ratings."""

    def __init__(self, train: Ratings, blocks: _Blocks, seen: tuple[Codes, Codes] | None) -> None:
        users, items = seen if seen is not None else (np.empty(0, np.int64), np.empty(0, np.int64))
        order, pointer = canonical_order(users, items, len(train.users))
        self.config, self.arrays, self.cache = Config(), {}, Cache()
        self.calibration = Calibration.identity(len(train.users), len(train.aspects))
        self._blocks = blocks
        self._catalogue = Catalogue(
            users=train.users,
            items=train.items,
            aspects=train.aspects,
            primary_aspect=train.primary_aspect,
            scale=train.scale,
            item_names=None,
            seen_pointer=pointer,
            seen_items=items[order].astype(np.int32),
        )

    def learn(self, fitting: Fitting) -> None:
        """Refuse: it was fitted elsewhere."""
        del fitting
        raise UnsupportedError("another library's results cannot be fitted here")

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        """Return the places of all items in the order of each user's scores."""
        del weights
        return self._blocks(users)

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return the scores of pairs, the same for every aspect."""
        aspects = len(self.catalogue.aspects)
        one = self.scorer(np.ones(aspects, dtype=np.float32)).of_pairs(users, items)
        return np.repeat(one[:, None], aspects, axis=1)


class _Blocks:
    """Blocks of scores in the codes of a split, as places: equal scores have equal places.

    In single precision, scores that differ in double precision could be equal; places cannot.
    """

    def __init__(
        self, name: str, score: Callable[[Int64s], AnyFloats], users: Int64s, items: Int64s
    ) -> None:
        self._name, self._score, self._users, self._items = name, score, users, items
        self._kept: dict[int, Float32s] = {}

    def __call__(self, users: Codes) -> Float32s:
        found = {user: self._kept[user] for user in users.tolist() if user in self._kept}
        new = np.array([user for user in users.tolist() if user not in found], dtype=np.int64)
        if len(new):
            at_once = max(_MOST_AT_ONCE // len(self._items), 1)
            for start in range(0, len(new), at_once):
                some = new[start : start + at_once]
                found |= zip(some.tolist(), _places(self._block(some)), strict=True)
            if (len(self._kept) + len(new)) * len(self._items) > _MOST_KEPT:
                self._kept = {}
            self._kept |= found
        return np.stack([found[user] for user in users.tolist()])

    def _block(self, users: Codes) -> AnyFloats:
        own = self._users[users]
        known, with_score = own >= 0, self._items >= 0
        block = np.full((len(users), len(self._items)), -np.inf)
        if known.any():
            found = self._score(own[known])
            if np.isnan(found).any():
                raise DataError(
                    f"{self._name} has a score that is no number: give minus infinity where there "
                    "is no score"
                )
            block[np.ix_(known, with_score)] = found[:, self._items[with_score]]
        return block


def _places(scores: AnyFloats) -> Float32s:
    """Return how many different scores of its row are below each.

    Examples
    --------
    >>> _places(np.array([[0.5, -np.inf, 0.5, 9.0]]))
    array([[1., 0., 1., 2.]], dtype=float32)
    """
    order = np.argsort(scores, axis=1)
    ascending = np.take_along_axis(scores, order, axis=1)
    steps = np.zeros(scores.shape, dtype=np.float32)
    steps[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
    places = np.empty_like(steps)
    np.put_along_axis(places, order, np.cumsum(steps, axis=1, dtype=np.float32), axis=1)
    return places


def _positions(ids: Ids, own: Sequence[object], name: str) -> Int64s:
    """Return the position of each id among others, −1 where it is not; 12 and "12" are one id."""
    place = {str(other): position for position, other in enumerate(own)}
    if len(place) < len(own):
        raise DataError(f"{name}: {ids.kind} ids are repeated: give each {ids.kind} once")
    return np.array([place.get(str(each), -1) for each in ids], dtype=np.int64)


def _recoded(seen: tuple[Codes, Codes], users: Int64s, items: Int64s) -> tuple[Codes, Codes]:
    """Return pairs of positions as codes of a split, without those that it does not have."""

    def codes(positions: Codes, of_codes: Int64s) -> Int64s:
        code_of = np.full(max(positions.max(initial=-1), of_codes.max(initial=-1)) + 1, -1)
        known = np.flatnonzero(of_codes >= 0)
        code_of[of_codes[known]] = known
        return code_of[positions]

    seen_users, seen_items = codes(seen[0], users), codes(seen[1], items)
    known = (seen_users >= 0) & (seen_items >= 0)
    return seen_users[known], seen_items[known]
