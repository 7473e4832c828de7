"""Who is asked about: users of the model, users with ratings of their own since, and newcomers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import polars as pl

from dmrank.data.ids import Id
from dmrank.models.base import Model
from dmrank.service import metrics
from dmrank.service.logs import logger
from dmrank.service.pool import Pool
from dmrank.service.served import Served
from dmrank.service.store.base import KeptRating, Store, StoreError
from dmrank.support.errors import DataError, DmrankError

Answer = TypeVar("Answer")
#: An item and ratings of it, as a request has them.
Given: TypeAlias = Mapping[str, Any]
#: Folded-in users that are kept: each shares nearly everything with the model.
_MOST_FOLDED = 8


@dataclass(frozen=True, eq=False)
class Asked:
    """Somebody, in a model that knows them.

    Attributes
    ----------
    model : Model
        The model, with the person folded in where that was needed.
    code : int
        The person in it.
    user : str, int or None
        The id; None: a newcomer.
    """

    model: Model
    code: int
    user: Id | None

    @property
    def name(self) -> Id:
        """The id in the model, also of a newcomer."""
        return self.model.users[self.code]


class People:
    """Finds people, and folds their ratings in.

    Parameters
    ----------
    store : Store or None
        Ratings that were given since the model was fitted.
    pool : Pool
        Where folding in is done.
    """

    def __init__(self, store: Store | None, pool: Pool) -> None:
        self._store, self._pool = store, pool
        # One thread: writes come one after the other anyway, and a connection has one user.
        self._store_thread = ThreadPoolExecutor(1, "store")
        self._folded: OrderedDict[tuple[str, str, int], Asked] = OrderedDict()
        self._lookup: _Lookup | None = None
        if store is not None and not store.answers_at_once:
            self._lookup = _Lookup(store, self._store_thread)

    async def revision(self, user: str) -> int | None:
        """Return the revision of a user's stored ratings; None: there are none.

        Lists go on where the store does not: with what the model knows.
        """
        assert self._store is not None
        try:
            if self._lookup is not None:
                return await self._lookup(user)
            return self._store.revisions([user]).get(user)
        except StoreError:
            metrics.store_failures.inc()
            return None

    async def find(self, served: Served, user: Id) -> Asked:
        """Return a user whom the model knows, or of whom there are ratings."""
        if self._store is not None:
            text = served.model.users.text(user)
            revision = await self.revision(text)
            if revision is not None:
                folded = await self._with_stored(served, text, revision)
                if folded is not None:
                    return folded
        return Asked(served.model, served.code(user), user)

    async def newcomer(self, served: Served, profile: Iterable[Given]) -> Asked:
        """Return somebody whose ratings are given."""
        table = profile_table(served, served.newcomer, profile)
        return await self._pool.run(_fold_in_alone, served, table)

    async def in_store(self, ask: Callable[[Store], Answer]) -> Answer:
        """Ask the store, on its thread."""
        assert self._store is not None
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._store_thread, ask, self._store)
        except StoreError:
            metrics.store_failures.inc()
            raise

    async def _with_stored(self, served: Served, user: str, revision: int) -> Asked | None:
        key = (served.version, user, revision)
        if key in self._folded:
            self._folded.move_to_end(key)
            return self._folded[key]
        try:
            kept = await self.in_store(lambda store: store.of_user(user))
            table = _stored_table(served, user, kept)
            if len(table) == 0:
                return None
            name = served.model.users.column([user])[0]
            folded = await self._pool.run(_fold_in, served.model, table, user, name)
        except DmrankError as error:
            # Of another model, on another scale, or of one that folds nobody in: lists go on.
            logger.warning(f"ratings that were given since are left out: {error}")
            return None
        self._folded[key] = folded
        while len(self._folded) > _MOST_FOLDED:
            self._folded.popitem(last=False)
        return folded

    def forget(self) -> None:
        """Forget who was folded into a model that is not served any more."""
        self._folded.clear()

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store_thread.submit(self._store.close).result()
        self._store_thread.shutdown()


class _Lookup:
    """Looks users up in a store that takes its time: those who ask meanwhile share the next look.

    A look that has begun says nothing about a rating that is written after it began.
    """

    def __init__(self, store: Store, thread: ThreadPoolExecutor) -> None:
        self._store, self._thread = store, thread
        self._waiting: dict[str, asyncio.Future[int | None]] = {}
        self._task: asyncio.Task[None] | None = None

    def __call__(self, user: str) -> asyncio.Future[int | None]:
        loop = asyncio.get_running_loop()
        if user not in self._waiting:
            self._waiting[user] = loop.create_future()
        if self._task is None:
            self._task = loop.create_task(self._look())
        return self._waiting[user]

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            try:
                found = await loop.run_in_executor(
                    self._thread, self._store.revisions, list(waiting)
                )
            except Exception as error:
                for future in waiting.values():
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # whoever waited may have gone
            else:
                for user, future in waiting.items():
                    if not future.done():
                        future.set_result(found.get(user))
        self._task = None


def _fold_in(model: Model, table: pl.DataFrame, name: str, user: Id | None) -> Asked:
    metrics.folded.inc()
    folded = model.fold_in(table)
    return Asked(folded, folded.users.code(name), user)


def _fold_in_alone(served: Served, table: pl.DataFrame) -> Asked:
    return _fold_in(served.without_users, table, served.newcomer, None)


def profile_table(served: Served, user: str, profile: Iterable[Given]) -> pl.DataFrame:
    """Return the ratings of a person as a table that the model can fold in."""
    catalogue = served.model.catalogue
    rows = []
    for given in profile:
        ratings = dict(given)
        item = ratings.pop("item", None)
        ratings.pop("user", None)
        if item is None or isinstance(item, float):
            raise DataError("a rating names no item: give every one an item, such as {'item': …}")
        catalogue.items.code(item)
        for aspect, value in ratings.items():
            catalogue.aspect(aspect)
            if isinstance(value, str):
                raise DataError(f"rating {value[:40]!r} of {aspect!r} is no number: give one")
        rows.append({"item": catalogue.items.text(item), **ratings})
    return _table(served, user, rows)


def _stored_table(served: Served, user: str, kept: Iterable[KeptRating]) -> pl.DataFrame:
    """Return stored ratings of what this model knows, which may not be all."""
    catalogue = served.model.catalogue
    rows = []
    for each in kept:
        known = {name: x for name, x in each.ratings.items() if name in catalogue.aspects}
        if each.item in catalogue.items and known:
            rows.append({"item": each.item, **known})
    return _table(served, user, rows)


def _table(served: Served, user: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {"item": pl.String, **dict.fromkeys(served.aspects, pl.Float64)}
    table = pl.DataFrame(rows, schema=schema, strict=False)
    return table.select(pl.lit(user).alias("user"), pl.all())
