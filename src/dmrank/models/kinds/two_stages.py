"""The two halves of a list score: who comes to an item, and how they will like it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.mixed_lists import ListParts
from dmrank.fitted.scorers import Blocks
from dmrank.fitted.sizes import Sizes
from dmrank.models.kinds.exposure import Exposure
from dmrank.models.mixedeffects import MixedEffects
from dmrank.ranking import ItemLists, TopN, top_n_scores
from dmrank.ranking.standardise import Share, add_standardised
from dmrank.support.arrays import Bools, Codes, Float32s, Floats
from dmrank.support.layouts import Kept, floats

#: Items whose effects on an aspect spread less are all alike.
_SMALLEST_SPREAD = 1e-4


@dataclass(frozen=True, eq=False)
class TwoStages:
    """Exposure and preference on one scale, so that lists can be ranked by any share of both.

    Attributes
    ----------
    exposure : Exposure
        Who comes to what; it may know fewer items than the preference, to which more were folded
        in.
    preference : MixedEffects
        How items are liked.
    """

    exposure: Exposure
    preference: MixedEffects

    @cached_property
    def spread(self) -> Floats:
        """Deviation of what items are like on each aspect, over the catalogue."""
        spread = self.preference.item_spread(self.rated)
        return np.where(spread < _SMALLEST_SPREAD, 1.0, spread)

    @cached_property
    def level(self) -> Floats:
        """Mean of what items are like on each aspect, over the catalogue."""
        return self.preference.arrays["items"][self.rated].mean(axis=0, dtype=np.float64)

    @cached_property
    def rated(self) -> Codes:
        """Items that have a training rating."""
        return np.flatnonzero(self.exposure.catalogue.rated_items)

    def who_comes(self, users: Codes) -> Float32s:
        """Return exposure of some users and all items, standardised per user.

        An item that was folded in later has that of the item the user is least likely to come to.
        """
        aspects = len(self.exposure.weights)
        scores = self.exposure.block(users, np.full(aspects, 1 / aspects, dtype=np.float32))
        z = np.zeros_like(scores)
        whole = Share(np.ones(len(users), dtype=np.float32), np.float32(0))
        add_standardised(z, scores, self.rated, whole, self.exposure.threads)
        later = len(self.preference.catalogue.items) - z.shape[1]
        if later == 0:
            return z
        least = z[:, self.rated].min(axis=1, keepdims=True)
        return np.concatenate([z, np.repeat(least, later, axis=1)], axis=1)

    def how_liked(self, users: Codes, mix: Float32s) -> Float32s:
        """Return preference of some users and all items, each aspect in deviations over items."""
        return self.liked_and_level(users, np.tile(mix, (len(users), 1)))[0]

    def liked_and_level(self, users: Codes, mixes: Float32s) -> tuple[Float32s, Floats]:
        """Return preference less its mean over items, and that mean, of each user by a mix."""
        weights = mixes / mixes.sum(axis=1, keepdims=True) / self.spread
        scores = self.preference.score_mixes(users, weights.astype(np.float32))
        every = len(self.rated) == scores.shape[1]
        known = scores if every else np.take(scores, self.rated, axis=1)
        level = known.mean(axis=1, dtype=np.float64)
        scores -= level[:, None].astype(np.float32)
        return scores, level

    def block(self, users: Codes, mix: Float32s, share: float) -> Float32s:
        """Return (1 − t) z(exposure) + t Σ_k w_k z_k(preference) of some users and all items."""
        t = np.float32(share)
        if t == 0:
            return self.who_comes(users)
        liked = self.how_liked(users, mix)
        return liked if t == 1 else added(self.who_comes(users), liked, t)

    def lists(self, users: Codes, mixes: Float32s, share: float) -> TwoStageLists:
        """Return what makes lists of some users, each by a mix of its own."""
        return TwoStageLists(self, users, mixes, share)

    def pairs(self, users: Codes, items: Codes, share: float) -> Float32s:
        """Return list scores of pairs by each aspect, but for a constant of user and aspect."""
        t = np.float32(share)
        scores: Float32s = self.preference.score_pairs(users, items) * (t / self.spread).astype(
            np.float32
        )
        if t == 1:
            return scores
        z = Blocks(self.who_comes).of_pairs(users, items)
        return scores + ((1 - t) * z)[:, None]


def added(who_comes: Float32s, how_liked: Float32s, t: np.float32) -> Float32s:
    """Return (1 − t) z(exposure) + t z(preference)."""
    return (1 - t) * who_comes + t * how_liked


@dataclass(frozen=True, eq=False)
class TwoStageLists:
    """Lists of some users, each by a mix of its own: exposure is the same for every mix."""

    stages: TwoStages
    users: Codes
    mixes: Float32s
    share: float

    @property
    def liking(self) -> Floats:
        """What a unit of the calibrated rating of each aspect counts in a list, K."""
        return 1 / self.stages.spread

    @cached_property
    def _who_comes(self) -> Float32s:
        return self.stages.who_comes(self.users)

    @cached_property
    def _liked_and_level(self) -> tuple[Float32s, Floats]:
        return self.stages.liked_and_level(self.users, self.mixes)

    def top_n(self, n: int, excluded: ItemLists, allowed: Bools | None) -> TopN:
        """Return the best items of each user."""
        t, mask = np.float32(self.share), self.stages.preference.catalogue.rated_items
        if t == 0:
            scores = self._who_comes
        else:
            liked = self._liked_and_level[0]
            scores = liked if t == 1 else added(self._who_comes, liked, t)
        mask = mask if allowed is None else mask & allowed
        return top_n_scores(scores, n, *excluded, mask, self.stages.exposure.threads)

    def parts(self, rows: Codes, items: Codes, scores: Float32s) -> ListParts:
        """Return what list scores are made of: each aspect less its mean over items."""
        stages, preference = self.stages, self.stages.preference
        level = stages.level + preference.arrays["users"][self.users]
        weights = self.mixes / self.mixes.sum(axis=1, keepdims=True) / stages.spread
        # What the personal part, the same for all aspects, adds to the mean.
        own = self._liked_and_level[1] - np.einsum("nk,nk->n", weights, level)
        level = level + (own / weights.sum(axis=1))[:, None]
        aspects = ((scores - level[rows]) / stages.spread).astype(np.float32)
        return ListParts(self._who_comes[rows, items], aspects)


def known_items(sizes: Sizes) -> int:
    """Return how many items exposure knows by the arrays of a file; not more than there are."""
    return min(max(sizes.number("blend.items"), 0), sizes.items)


def stages_layout(sizes: Sizes) -> dict[str, Kept | None]:
    """Return what the arrays of the stages themselves must be."""
    shares = sizes.length("curve.shares")
    share = floats(1, dtype=np.float64, low=0, high=1)
    return {
        "blend.items": Kept(np.int64, (1,), low=1, high=sizes.items),
        "preference": share,
        "curve.shares": replace(share, shape=(shares,)).maybe(),
        "curve.values": floats(shares, dtype=np.float64).maybe(),
    }


def first_items(catalogue: Catalogue, count: int) -> Catalogue:
    """Return what is remembered of the first items, for models that know no others."""
    if len(catalogue.items) == count:
        return catalogue
    kept = catalogue.seen_items < count
    before = np.concatenate([[0], np.cumsum(kept)])
    names = catalogue.item_names
    first = replace(
        catalogue,
        items=catalogue.items.first(count),
        item_names=None if names is None else names[:count],
        seen_pointer=before[catalogue.seen_pointer],
        seen_items=catalogue.seen_items[kept],
        evidence=None,
    )
    vars(first)["rated_items"] = catalogue.rated_items[:count]
    return first
