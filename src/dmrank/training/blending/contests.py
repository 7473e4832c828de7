"""Contests of held-out items against unrated ones, and the features that a blend weighs.

Features of an item for a user are, of each member: its standardised score z, z times the user's
activity, and z squashed to ±3 (`ranking.standardise`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dmrank.ranking import TopN, top_n_scores
from dmrank.ranking.scoring import users_at_once
from dmrank.support.arrays import AnyFloats, Codes, Float32s, Floats
from dmrank.training.blending.weights import Contests
from dmrank.training.held_out import HeldOut

#: Features of each member.
PER_MEMBER = 3
#: The best unrated items of each member are those that a held-out item has to beat.
_SHORTLIST = 100
#: About so many contests tell enough, with at least and at most so many for each held-out item.
_ENOUGH, _FEWEST, _MOST = 120_000, 6, 20

#: Standardised scores of some users, one block (users × items) per member.
Standardised = Callable[[Codes], list[Float32s]]


class Activity(NamedTuple):
    """How users are told apart by the number of their ratings: (ln n_u − mean) / deviation."""

    mean: float
    deviation: float

    @classmethod
    def from_counts(cls, counts: Codes) -> Activity:
        """Take mean and deviation of ln n_u over the users who have rated."""
        logs = np.log(counts[counts > 0])
        deviation = float(logs.std())
        return cls(float(logs.mean()), deviation if deviation > 1e-6 else 1.0)

    def __call__(self, counts: Codes) -> Float32s:
        """Return the activity of users with so many ratings.

        Examples
        --------
        >>> Activity(0.0, 1.0)(np.array([1, 10])).round(2)
        array([0. , 2.3], dtype=float32)
        """
        logs = np.log(np.maximum(counts, 1))
        return np.asarray((logs - self.mean) / self.deviation, dtype=np.float32)


def features(z: AnyFloats, activity: AnyFloats) -> Floats:
    """Return the features of items, n × 3M, from their standardised scores, n × M."""
    wide = z.astype(np.float64)
    squashed = wide / np.sqrt(1 + wide * wide / 9)
    each = np.stack([wide, wide * activity[:, None], squashed], axis=2)
    return each.reshape(len(z), -1)


def draw_contests(
    held_out: HeldOut,
    ratings: Floats,
    standardised: Standardised,
    activity: Float32s,
    *,
    negatives: int | None,
    seed: int,
    threads: int | None,
) -> Contests:
    """Draw unrated items for held-out ones, from what any member puts among its best.

    Held-out items that no member has there take no part: to force them in would teach that low
    scores are good.

    Parameters
    ----------
    held_out : HeldOut
        Held-out items by user.
    ratings : float array, n × K
        Their ratings on the training scale.
    standardised : callable
        Scores of the members.
    activity : float32 array
        The activity of each user of `held_out`.
    negatives : int or None
        How many for each; by default 6 to 20, the fewer the more items are held out.
    seed : int
        Of the draws, which are those of a user alone.
    threads : int or None
        Number of threads.
    """
    if negatives is None:
        negatives = count_negatives(len(ratings))
    drawn = list(_draw(held_out, standardised, activity, negatives, seed, threads))
    aspects = ratings.shape[1]
    if not drawn:
        return Contests(np.empty((0, 0)), np.empty((0, aspects)), np.empty(0, dtype=np.int64))
    sizes = np.array([len(each.features) for each in drawn])
    rows = np.array([each.row for each in drawn])
    return Contests(
        np.concatenate([each.features for each in drawn]),
        ratings[np.repeat(rows, sizes)],
        np.cumsum(sizes) - sizes,
    )


def count_negatives(held_out: int) -> int:
    """Return how many unrated items each of so many held-out ones is compared with."""
    return int(np.clip(_ENOUGH // max(held_out, 1), _FEWEST, _MOST))


class _Drawn(NamedTuple):
    """The contests of one held-out row."""

    row: int
    features: Floats


def _draw(
    held_out: HeldOut,
    standardised: Standardised,
    activity: Float32s,
    negatives: int,
    seed: int,
    threads: int | None,
) -> Iterator[_Drawn]:
    pointer, at_once = held_out.items.pointer, users_at_once(len(held_out.candidates))
    for start in range(0, len(held_out.users), at_once):
        users = slice(start, min(start + at_once, len(held_out.users)))
        blocks = standardised(held_out.users[users])
        excluded = held_out.excluded.of(users.start, users.stop)
        n = min(_SHORTLIST, blocks[0].shape[1])
        best = [top_n_scores(z, n, *excluded, held_out.candidates, threads) for z in blocks]
        for own in range(len(blocks[0])):
            user = users.start + own
            items = held_out.items.items[pointer[user] : pointer[user + 1]]
            union = _union(best, own)
            unrated = np.setdiff1d(union, items, assume_unique=True)
            # Keyed by the user: a draw depends on no other user.
            rng = np.random.default_rng([seed, int(held_out.users[user])])
            z = np.stack([block[own] for block in blocks], axis=1)
            for place in np.flatnonzero(np.isin(items, union)):
                others = rng.choice(unrated, min(negatives, len(unrated)), replace=False)
                if len(others):
                    of_user = activity[user : user + 1]
                    of_item = features(z[items[place : place + 1]], of_user)
                    of_others = features(z[others], np.repeat(of_user, len(others)))
                    yield _Drawn(int(pointer[user] + place), of_item - of_others)


def _union(best: list[TopN], user: int) -> Codes:
    listed = np.unique(np.concatenate([each.items[user] for each in best]))
    return listed[listed >= 0]
