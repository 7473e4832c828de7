"""Lists of items for users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice

import numpy as np
import polars as pl

from dmrank.answers.all_aspects import SHORTLIST, rank_by_all
from dmrank.answers.lists import (
    Candidates,
    Filters,
    OnUnknown,
    check_length,
    known_users,
    list_table,
)
from dmrank.data.ids import Id, id_list
from dmrank.data.rows import count_codes
from dmrank.data.training_scale import to_training_scale
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import By, FittedModel
from dmrank.fitted.scorers import Ranker, Vectors, make_ranker
from dmrank.ranking import TopN
from dmrank.ranking.top_n import no_items
from dmrank.support.arrays import Codes, Float32s
from dmrank.support.errors import ConfigError

#: Places of lists that are made at once: enough to keep every thread busy.
_PLACES_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class ListRequest:
    """What is asked of lists, the same for all users; see `Model.recommend`."""

    n: int = 10
    by: By = None
    exclude_seen: bool = True
    allow: Iterable[Id] | None = None
    block: Iterable[Id] | None = None
    candidates: Candidates | None = None
    aspects: bool = False
    on_unknown: OnUnknown = "raise"
    preference: float | None = None


def recommend(model: FittedModel, users: Id | Iterable[Id], request: ListRequest) -> pl.DataFrame:
    """Rank items for users; see `Model.recommend`."""
    lists = _Lists.from_request(model, request)
    names = id_list(users)
    return lists.table(names, lists.codes(names))


def recommend_blocks(
    model: FittedModel, users: Id | Iterable[Id], users_per_block: int, request: ListRequest
) -> Iterator[pl.DataFrame]:
    """Rank items for many users, block by block; see `Model.recommend_blocks`."""
    if users_per_block < 1:
        raise ConfigError(f"users_per_block={users_per_block!r}: give 1 or more")
    lists = _Lists.from_request(model, request)
    if isinstance(users, str | int | np.integer):
        users = id_list(users)
    # Users that are all there are looked up before anything is ranked.
    codes = lists.codes(users) if isinstance(users, Sequence) else None
    left, done = iter(users), 0
    while names := list(islice(left, users_per_block)):
        own = lists.codes(names) if codes is None else codes[done : done + len(names)]
        yield lists.table(names, own)
        done += len(names)


@dataclass(frozen=True, eq=False)
class _Lists:
    """A request whose ids were looked up and whose parameters were checked."""

    model: FittedModel
    catalogue: Catalogue
    n: int
    weights: Float32s
    by_all: bool
    filters: Filters
    aspects: bool
    on_unknown: OnUnknown

    @classmethod
    def from_request(cls, model: FittedModel, request: ListRequest) -> _Lists:
        catalogue = model.catalogue
        check_length(request.n)
        if request.preference is not None:
            model = model.with_preference(request.preference)
        elif request.candidates is not None:
            model = model.for_candidates()
        if request.on_unknown not in ("raise", "popular"):
            raise ConfigError(f"on_unknown={request.on_unknown!r}: give 'raise' or 'popular'")
        by_all = request.by == "all" and "all" not in catalogue.aspects
        every = np.full(len(catalogue.aspects), 1 / len(catalogue.aspects), dtype=np.float32)
        return cls(
            model=model,
            catalogue=catalogue,
            n=min(int(request.n), len(catalogue.items)),
            weights=every if by_all else model.weights(request.by),
            by_all=by_all,
            filters=Filters.from_ids(
                catalogue, request.exclude_seen, request.allow, request.block, request.candidates
            ),
            aspects=request.aspects,
            on_unknown=request.on_unknown,
        )

    @property
    def longest(self) -> int:
        """The longest list that is made for a user on the way."""
        return max(self.n, SHORTLIST if self.by_all else 1)

    def codes(self, names: Sequence[Id]) -> Codes:
        """Return the codes of users, −1 for one not known, if that is no error."""
        return known_users(self.catalogue, names, self.on_unknown)

    def table(self, names: list[Id], users: Codes) -> pl.DataFrame:
        """Return the lists of users, given by name and by code, as many at once as fit memory."""
        step = max(_PLACES_AT_ONCE // self.longest, 1)
        parts = [slice(start, start + step) for start in range(0, max(len(names), 1), step)]
        tables = [self._part(names[part], users[part]) for part in parts]
        return tables[0] if len(tables) == 1 else pl.concat(tables)

    def _part(self, names: list[Id], users: Codes) -> pl.DataFrame:
        known = users >= 0
        if known.all():
            best = self._personal(names, users)
        else:
            best = no_items(len(names), self.n)
            of_known, of_others = (list(compress(names, rows)) for rows in (known, ~known))
            best.items[known], best.scores[known] = self._personal(of_known, users[known])
            best.items[~known], best.scores[~known] = self._popular(of_others)
        personal = self.on_unknown == "popular"
        return list_table(self.model, names, users, best, aspects=self.aspects, personal=personal)

    def _personal(self, names: list[Id], users: Codes) -> TopN:
        """Rank items for users that the model knows."""
        ranker = self.model.ranker(self.weights)
        best = self._ranked(ranker, self.filters, names, users, self.longest)
        return rank_by_all(self.model, users, best.items, self.n) if self.by_all else best

    def _popular(self, names: list[Id]) -> TopN:
        """Rank items for users that the model does not know, by the sum of all ratings."""
        totals = rating_totals(self.catalogue) @ self.weights
        anybody = Vectors(np.ones((1, 1), dtype=np.float32), totals[:, None])
        ranker = make_ranker(anybody, self.catalogue.rated_items)
        users = np.zeros(len(names), dtype=np.int32)
        return self._ranked(ranker, self.filters.without_seen(), names, users, self.n)

    def _ranked(
        self, ranker: Ranker, filters: Filters, names: list[Id], users: Codes, n: int
    ) -> TopN:
        threads, n = self.model.config.threads, min(n, len(self.catalogue.items))
        if len(users) == 0:
            return no_items(0, n)
        excluded = filters.excluded(self.catalogue, users)
        if filters.candidates is not None:
            lists = filters.lists(self.catalogue, names, excluded)
            return ranker.best_of(users, n, lists, threads)
        return ranker.top_n(users, n, excluded, filters.allowed, threads)


def rating_totals(catalogue: Catalogue) -> Float32s:
    """Return Σ_u r_uik for every item and aspect, on the training scale 1–5.

    An unrated item counts as rated 0 (paper 3), so that this is, but for a constant, the mean
    rating over all users: many ratings count, and good ones count more.
    """
    counts = count_codes(catalogue.seen_items, len(catalogue.items)).astype(np.float32)
    evidence = catalogue.evidence
    if evidence is None:
        return np.repeat(counts[:, None], len(catalogue.aspects), axis=1)
    means = np.nan_to_num(to_training_scale(evidence.item_means, catalogue.scale))
    return (evidence.item_counts * means).astype(np.float32)
