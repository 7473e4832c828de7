"""Lists of some users, each by a mix of its own, and what the scores in them are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dmrank.fitted.scorers import MixVectors, Ranker, by_mix
from dmrank.ranking import ItemColumns, ItemLists, TopN, top_n
from dmrank.support.arrays import Bools, Codes, Float32s, Floats


class ListParts(NamedTuple):
    """What list scores of (user, item) pairs are made of.

    By a mix w of aspects, and a share t of preference where the model has one, a score is

        (1 − t) exposure + t Σ_k w_k aspects_k / Σ_k w_k ,   else   Σ_k w_k aspects_k .

    Attributes
    ----------
    exposure : float32 array, n, or None
        Who comes to an item; None: the model has one score for lists.
    aspects : float32 array, n × K
        How an item is scored on each aspect.
    """

    exposure: Float32s | None
    aspects: Float32s


class MixedLists(Protocol):
    """Lists of some users, each by a mix of its own."""

    @property
    def liking(self) -> Floats:
        """What a unit of the calibrated rating of each aspect counts in a list, K."""

    def top_n(self, n: int, excluded: ItemLists, allowed: Bools | None) -> TopN:
        """Return the best items of each user that are allowed and not excluded for it."""

    def parts(self, rows: Codes, items: Codes, scores: Float32s) -> ListParts:
        """Return what list scores are made of.

        Parameters
        ----------
        rows : int array, n
            Positions of users in those of the lists.
        items : int array, n
            Codes.
        scores : float32 array, n × K
            What `score_pairs` says of them.
        """


@dataclass(frozen=True, eq=False)
class OneScoreLists:
    """Lists of a model that scores by a mix of aspects alone.

    Attributes
    ----------
    users, mixes
        Codes, and a mix for each (n × K).
    slope
        How scores of aspects become ratings.
    ranker
        Returns what ranks by one mix.
    threads
        Number of threads; None: every core.
    """

    users: Codes
    mixes: Float32s
    slope: Float32s
    ranker: Callable[[Float32s], Ranker]
    threads: int | None

    @property
    def liking(self) -> Floats:
        """What a unit of the calibrated rating of each aspect counts in a list, K."""
        return np.ones(len(self.slope))

    def top_n(self, n: int, excluded: ItemLists, allowed: Bools | None) -> TopN:
        """Return the best items of each user, mix by mix."""

        def best(rows: Codes, mix: Float32s) -> TopN:
            own = excluded if len(rows) == len(self.users) else excluded.some(rows)
            return self.ranker(mix).top_n(self.users[rows], n, own, allowed, self.threads)

        return TopN(*by_mix(self.mixes, best))

    def parts(self, rows: Codes, items: Codes, scores: Float32s) -> ListParts:
        """Return what list scores are made of."""
        del rows, items
        return ListParts(None, scores * self.slope)


@dataclass(frozen=True, eq=False)
class VectorLists(OneScoreLists):
    """The same of a model whose item vectors do for every mix: all lists are made at once."""

    vectors: MixVectors
    columns: ItemColumns

    def top_n(self, n: int, excluded: ItemLists, allowed: Bools | None) -> TopN:
        """Return the best items of each user."""
        rows = self.vectors.of_users(self.users, self.mixes * self.slope)
        return top_n(rows, self.columns, n, *excluded, allowed, self.threads)
