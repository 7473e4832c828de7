"""Lists: of users, of users with ratings of their own since, and of newcomers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

from dmrank.answers.lists import Filters
from dmrank.answers.recommend import ListRequest as LibraryRequest
from dmrank.answers.recommend import recommend
from dmrank.data.ids import Id
from dmrank.models.base import Model
from dmrank.service.batching import Wanted
from dmrank.service.cursors import DEEPEST, digest, read_cursor, write_cursor
from dmrank.service.messages import (
    MOST_ROWS,
    ListQuery,
    ListRequest,
    Lists,
    NewListRequest,
    Row,
    UserList,
)
from dmrank.service.people import Asked
from dmrank.service.problems import INVALID, ProblemError
from dmrank.service.rows import rows_of_lists, rows_of_table
from dmrank.service.served import Mix, Served, make_mix
from dmrank.service.service import Service
from dmrank.support.arrays import Bools, Codes
from dmrank.support.errors import UnknownUserError


async def lists_by_address(service: Service, asked: ListQuery) -> Lists:
    """Rank items for users."""
    served = service.served
    return await _lists(service, served, asked, asked.user, served.mix(asked.by))


async def lists(service: Service, asked: ListRequest) -> Lists:
    """Rank items for users."""
    served = service.served
    return await _lists(service, served, asked, asked.users, make_mix(served.model, asked.by))


async def list_of_newcomer(service: Service, asked: NewListRequest) -> Lists:
    """Rank items for somebody whose ratings are given; nothing is stored."""
    served = service.served
    question = _Question.checked(served, asked, make_mix(served.model, asked.by))
    newcomer = await service.people.newcomer(question.served, asked.ratings)
    return question.answer([await _list_of(service, question, newcomer)])


async def _lists(
    service: Service, served: Served, asked: ListQuery | ListRequest, users: list[Id], mix: Mix
) -> Lists:
    if len(users) * asked.n > MOST_ROWS:
        raise ProblemError(
            INVALID,
            f"{len(users)} users × {asked.n} items are more than {MOST_ROWS:,} rows: ask for fewer",
        )
    question = _Question.checked(served, asked, mix)
    if len(users) == 1:
        return question.answer([await _list(service, question, users[0])])
    found = await asyncio.gather(*(_list(service, question, user) for user in users))
    return question.answer(list(found))


class _Question(Struct, frozen=True, eq=False):
    """What is asked of lists, the same for all users, after it was checked."""

    served: Served
    asked: ListQuery | ListRequest | NewListRequest
    mix: Mix
    model: Model
    blocked: Codes | None
    allowed: Bools | None

    @classmethod
    def checked(
        cls, served: Served, asked: ListQuery | ListRequest | NewListRequest, mix: Mix
    ) -> _Question:
        model = served.with_preference(asked.preference)
        catalogue = model.catalogue
        if asked.candidates is not None and asked.preference is None:
            model = model.for_candidates()
        blocked, allowed = None, None
        if asked.block:
            blocked = np.unique(catalogue.items.codes(asked.block))
        candidates = None if isinstance(asked.candidates, dict) else asked.candidates
        if asked.allow is not None or candidates is not None:
            allowed = Filters.from_ids(catalogue, True, asked.allow, None, candidates).allowed
        return cls(served, asked, mix, model, blocked, allowed)

    def answer(self, lists: list[UserList]) -> Lists:
        return Lists(self.served.version, self.mix.shown, self.model.preference, lists)

    def allowed_for(self, user: Id | None) -> Bools | None:
        """Return which items may be listed for a user."""
        candidates = self.asked.candidates
        if not isinstance(candidates, dict):
            return self.allowed
        if str(user) not in candidates:
            raise ProblemError(INVALID, f"candidates have no list for user {user!r}: give one")
        own = Filters.from_ids(self.model.catalogue, True, candidates[str(user)]).allowed
        assert own is not None
        return own if self.allowed is None else own & self.allowed

    def offset(self, user: Id | None) -> int:
        """Return how many rows were shown before."""
        if self.asked.cursor is None:
            return 0
        return read_cursor(self.asked.cursor, self.served.version, self._digest(user))

    def page(self, user: Id | None, personal: bool, rows: list[Row], more: bool) -> UserList:
        """Return a part of a list, and a cursor if it goes on."""
        cursor = None
        if more and rows and rows[-1].rank < DEEPEST:
            cursor = write_cursor(self.served.version, rows[-1].rank, self._digest(user))
        return UserList(user, personal, rows, cursor)

    def _digest(self, user: Id | None) -> int:
        asked = self.asked
        profile = asked.ratings if isinstance(asked, NewListRequest) else None
        filters = asked.exclude_seen, asked.allow, asked.block, asked.candidates
        return digest(user, profile, self.mix.by, asked.preference, filters, asked.on_unknown)


async def _list(service: Service, question: _Question, user: Id) -> UserList:
    try:
        person = await service.people.find(question.served, user)
    except UnknownUserError:
        if question.asked.on_unknown == "raise":
            raise
        return await service.pool.run(_by_library, question, None, user)
    return await _list_of(service, question, person)


async def _list_of(service: Service, question: _Question, person: Asked) -> UserList:
    weights = question.mix.weights
    if weights is None:
        return await service.pool.run(_by_library, question, person, person.user)
    asked, offset = question.asked, question.offset(person.user)
    model = question.model
    if person.model is not question.served.model:
        # Folded in: the same share of preference in another model.
        model = person.model if model.preference is None else _shared(person.model, model)
    wanted = Wanted(
        model,
        person.code,
        weights,
        # One more: the last row has a next one, too.
        offset + asked.n + 1,
        asked.exclude_seen,
        question.blocked,
        question.allowed_for(person.user),
        asked.aspects,
    )
    rows = await service.batcher.ask(wanted)
    more = len(rows.items) > offset + asked.n
    shown = rows_of_lists(question.served, rows, offset, asked.n)
    return question.page(person.user, True, shown, more)


def _shared(folded: Model, model: Model) -> Model:
    assert model.preference is not None
    return folded.with_preference(model.preference)


def _by_library(question: _Question, person: Asked | None, user: Id | None) -> UserList:
    """Make a list by all aspects together, or of what is popular, as the library does."""
    asked, offset = question.asked, question.offset(user)
    model = question.model if person is None else person.model
    name = person.name if person is not None else user
    assert name is not None  # a newcomer is folded in
    candidates: Any = asked.candidates
    if isinstance(candidates, Mapping):
        candidates = {name: candidates.get(str(user), [])}
    request = LibraryRequest(
        n=offset + asked.n + 1,
        by=question.mix.by,
        exclude_seen=asked.exclude_seen,
        allow=asked.allow,
        block=asked.block,
        candidates=candidates,
        aspects=asked.aspects,
        on_unknown=asked.on_unknown,
        preference=asked.preference,
    )
    table: pl.DataFrame = recommend(model, [name], request)
    more, shown = len(table) > offset + asked.n, table.slice(offset, asked.n)
    rows = rows_of_table(question.served, shown, aspects=asked.aspects)
    return question.page(user, person is not None, rows, more)
