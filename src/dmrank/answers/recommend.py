"""Ranking items for users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import compress, islice
from typing import TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.answers.all_aspects import SHORTLIST, rank_by_all
from dmrank.answers.filters import Candidates, Filters, OnUnknown, known_users
from dmrank.answers.lists import check_length, list_table
from dmrank.answers.popular import popular_vectors
from dmrank.fitted.cache import Keeping
from dmrank.fitted.contract import By
from dmrank.fitted.rankers import Ranker, make_ranker
from dmrank.fitted.scorers import Codes
from dmrank.ranking import TopN
from dmrank.ranking.top_n import no_items
from dmrank.support.errors import ConfigError

#: Places of lists that are made at once: enough to keep every thread busy.
_PLACES_AT_ONCE = 1 << 20


class RecommendOptions(TypedDict, total=False):
    """The options of `Recommending.recommend`."""

    by: By
    exclude_seen: bool
    allow: Iterable[str] | None
    block: Iterable[str] | None
    candidates: Candidates | None
    aspects: bool
    on_unknown: OnUnknown


@dataclass(frozen=True, eq=False)
class _Request:
    """What is the same for all users of a call."""

    n: int
    weights: NDArray[np.float32]
    by_all: bool
    filters: Filters
    aspects: bool
    on_unknown: OnUnknown


class Recommending(Keeping):
    """What ranks items for users."""

    def recommend(
        self,
        users: str | Iterable[str],
        n: int = 10,
        *,
        by: By = None,
        exclude_seen: bool = True,
        allow: Iterable[str] | None = None,
        block: Iterable[str] | None = None,
        candidates: Candidates | None = None,
        aspects: bool = False,
        on_unknown: OnUnknown = "raise",
    ) -> pl.DataFrame:
        """Rank items for users.

        Items without a training rating are never listed: the model knows nothing of them. Where
        filters leave fewer than n items, the list is shorter; where they leave none, the user has
        no rows. An id that is repeated in a filter counts once; a user who is repeated gets the
        list again.

        Parameters
        ----------
        users : str or iterable of str
            User ids.
        n : int
            Length of each list.
        by : str or mapping of str to float, optional
            The aspect to rank by, or a mix such as ``{"value": 2, "service": 1}``; by default the
            primary aspect. ``"all"`` respects all aspects together: it ranks by the probability
            that the user would rate the item higher than any item of the catalogue on every aspect
            at once, among the 200 items that are best by the mean of the aspects (an aspect that
            is itself called all is meant by its name).
        exclude_seen : bool
            Leave out what the user rated in training, whatever the other filters say.
        allow, block : iterable of str, optional
            Items: only those of `allow`, and none of `block`, are listed.
        candidates : iterable of str, or mapping of str to iterable of str, optional
            Items to be ranked, the same for all users or by user: the second stage of a two-stage
            system. Other filters apply to them as well.
        aspects : bool
            Add a column per aspect with the predicted rating.
        on_unknown : {"raise", "popular"}
            What to do about a user without a training rating: raise `UnknownUserError`, or rank by
            the sum of all ratings on the aspects of `by`, and show the items' mean ratings.

        Returns
        -------
        polars.DataFrame
            Columns user, rank (from 1), item, score; item_name if the ratings had names; personal
            if `on_unknown` is "popular": false where the list is one of popularity; and the aspects
            on request (one called like another column gets the ending _rating).

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(200, 50, 4_000, seed=1).ratings
        >>> model = dmrank.ItemMean().fit(ratings)
        >>> model.recommend("u000003", n=2, by={"value": 2, "service": 1}, aspects=True).columns[:6]
        ['user', 'rank', 'item', 'score', 'item_name', 'overall']
        >>> model.recommend("u000003", candidates=["h000001", "h000002"], exclude_seen=False).shape
        (2, 5)
        >>> model.recommend("nobody", n=3, on_unknown="popular")["personal"].to_list()
        [False, False, False]
        """
        request = self._request(n, by, exclude_seen, allow, block, candidates, aspects, on_unknown)
        names = [users] if isinstance(users, str) else list(users)
        step = max(_PLACES_AT_ONCE // max(request.n, SHORTLIST if request.by_all else 1), 1)
        starts = range(0, max(len(names), 1), step)
        lists = [self._answer(request, names[start : start + step]) for start in starts]
        return lists[0] if len(lists) == 1 else pl.concat(lists)

    def recommend_blocks(
        self,
        users: Iterable[str],
        n: int = 10,
        *,
        users_per_block: int = 16_384,
        **options: Unpack[RecommendOptions],
    ) -> Iterator[pl.DataFrame]:
        """Rank items for many users, and hand the lists over block by block.

        Memory does not grow with the number of users.

        Parameters
        ----------
        users, n, **options
            As for `recommend`.
        users_per_block : int
            How many users' lists make a block.

        Yields
        ------
        polars.DataFrame
            The lists of some users, in the order of `users`.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(200, 300, 4_000, seed=1).ratings
        >>> model = dmrank.ItemMean().fit(ratings)
        >>> blocks = model.recommend_blocks(ratings.users, n=5, by="value", users_per_block=80)
        >>> [len(lists) for lists in blocks]
        [400, 400, 200]
        """
        if users_per_block < 1:
            raise ConfigError(f"users_per_block={users_per_block!r}: give 1 or more")
        left = iter(users)
        while names := list(islice(left, users_per_block)):
            yield self.recommend(names, n, **options)

    def _request(
        self,
        n: int,
        by: By,
        exclude_seen: bool,
        allow: Iterable[str] | None,
        block: Iterable[str] | None,
        candidates: Candidates | None,
        aspects: bool,
        on_unknown: OnUnknown,
    ) -> _Request:
        catalogue = self.catalogue
        check_length(n)
        if on_unknown not in ("raise", "popular"):
            raise ConfigError(f"on_unknown={on_unknown!r}: give 'raise' or 'popular'")
        by_all = by == "all" and "all" not in catalogue.aspects
        every = np.full(len(catalogue.aspects), 1 / len(catalogue.aspects), dtype=np.float32)
        return _Request(
            n=min(int(n), len(catalogue.items)),
            weights=every if by_all else self._weights(by),
            by_all=by_all,
            filters=Filters.of(catalogue, exclude_seen, allow, block, candidates),
            aspects=aspects,
            on_unknown=on_unknown,
        )

    def _answer(self, request: _Request, names: list[str]) -> pl.DataFrame:
        """Make the lists of some users, given by name."""
        users = known_users(self.catalogue, names, request.on_unknown)
        known = users >= 0
        if known.all():
            best = self._rank(request, names, users)
        else:
            best = no_items(len(names), request.n)
            of_known, of_others = (list(compress(names, rows)) for rows in (known, ~known))
            best.items[known], best.scores[known] = self._rank(request, of_known, users[known])
            best.items[~known], best.scores[~known] = self._rank_for_anybody(request, of_others)
        personal = request.on_unknown == "popular"
        return list_table(self, names, users, best, aspects=request.aspects, personal=personal)

    def _rank(self, request: _Request, names: list[str], users: Codes) -> TopN:
        """Rank items for users that the model knows."""
        if not request.by_all:
            return self._ranked(self._ranker(request.weights), request, names, users, request.n)
        wanted = max(request.n, SHORTLIST)
        short = self._ranked(self._ranker(request.weights), request, names, users, wanted)
        return rank_by_all(self, users, short.items, request.n)

    def _rank_for_anybody(self, request: _Request, names: list[str]) -> TopN:
        """Rank items by popularity."""
        nobody = request.filters.without_seen()
        ranker = make_ranker(
            popular_vectors(self.catalogue, request.weights), self.catalogue.rated_items
        )
        users = np.zeros(len(names), dtype=np.int32)
        return self._ranked(ranker, replace(request, filters=nobody), names, users, request.n)

    def _ranked(
        self, ranker: Ranker, request: _Request, names: list[str], users: Codes, n: int
    ) -> TopN:
        threads, filters = self.config.threads, request.filters
        n = min(n, len(self.catalogue.items))
        if len(users) == 0:
            return no_items(0, n)
        excluded = filters.excluded(self.catalogue, users)
        if filters.candidates is not None:
            lists = filters.lists(self.catalogue, names, excluded)
            return ranker.best_of(users, n, lists, threads)
        return ranker.top_n(users, n, excluded, filters.allowed, threads)

    def _ranker(self, weights: NDArray[np.float32]) -> Ranker:
        """Return what ranks by a mix of aspects on the scale of the ratings."""

        def make() -> Ranker:
            scorer = self._scorer(weights * self._calibration.slope)
            return make_ranker(scorer, self.catalogue.rated_items, self._kept)

        return self._kept(("ranker", weights.tobytes()), make)
