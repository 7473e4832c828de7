"""Lists that are asked for at the same moment are ranked in one kernel call."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import Executor

import numpy as np
from msgspec import Struct

from dmrank.answers.list_rows import make_rows
from dmrank.models.base import Model
from dmrank.ranking import ItemLists
from dmrank.service import metrics
from dmrank.service.problems import BUSY, ProblemError
from dmrank.service.rows import PlainRows
from dmrank.support.arrays import Bools, Codes, Float32s

#: Lists in one kernel call: more save nothing, and everybody waits longer.
_MOST_AT_ONCE = 64
#: Rankings that take longer than this leave the loop free for other requests meanwhile.
_SHORT_SECONDS = 0.01
#: How much the last ranking counts in what the next one is expected to take.
_MEMORY = 0.2


class Wanted(Struct, frozen=True, eq=False):
    """A list that somebody waits for; a struct is made five times as fast as a dataclass.

    Attributes
    ----------
    model : Model
        What ranks it.
    user : int
        Code.
    mix : float32 array
        Weight of each aspect.
    n : int
        Its length.
    exclude_seen : bool
        Whether the user's training items are left out.
    blocked : int array or None
        Other items that are left out, ascending.
    allowed : bool array or None
        The items that may be listed.
    parts : bool
        Whether it is asked what rows are made of.
    """

    model: Model
    user: int
    mix: Float32s
    n: int
    exclude_seen: bool = True
    blocked: Codes | None = None
    allowed: Bools | None = None
    parts: bool = True

    def goes_with(self, other: Wanted) -> bool:
        """Return whether two lists can be ranked in one call, whatever their mixes."""
        return (
            self.model is other.model
            and self.allowed is other.allowed
            and self.parts == other.parts
        )

    def excluded(self) -> Codes:
        """Return the items that are left out, ascending."""
        catalogue = self.model.catalogue
        seen = catalogue.seen_items[:0]
        if self.exclude_seen:
            start, stop = catalogue.seen_pointer[self.user : self.user + 2]
            seen = catalogue.seen_items[start:stop]
        return seen if self.blocked is None else np.union1d(seen, self.blocked)


def _excluded(wanted: list[Wanted], users: Codes) -> ItemLists:
    """Return the items that are left out of each list."""
    if all(each.exclude_seen and each.blocked is None for each in wanted):
        return wanted[0].model.catalogue.seen_by(users)
    items = [each.excluded() for each in wanted]
    pointer = np.cumsum([0, *map(len, items)], dtype=np.int64)
    return ItemLists(pointer, np.concatenate(items).astype(np.int32, copy=False))


def rank(wanted: list[Wanted]) -> list[PlainRows]:
    """Rank lists that go with each other."""
    first, model = wanted[0], wanted[0].model
    users = np.array([each.user for each in wanted], dtype=np.int32)
    excluded = _excluded(wanted, users)
    mixes = np.array([each.mix for each in wanted])
    n = min(max(each.n for each in wanted), len(model.catalogue.items))
    if first.parts:
        rows = make_rows(model, users, mixes, n, excluded, first.allowed)
        plain, ends = PlainRows.from_arrays(rows), rows.pointer.tolist()
    else:
        best = model.mixed_lists(users, mixes).top_n(n, excluded, first.allowed)
        found = best.items >= 0
        plain = PlainRows.without_parts(best.items[found], best.scores[found])
        ends = [0, *np.cumsum(found.sum(axis=1)).tolist()]
    return [
        plain.of(start, min(stop, start + each.n))
        for each, start, stop in zip(wanted, ends[:-1], ends[1:], strict=True)
    ]


class Batcher:
    """Collects lists while others are ranked, and ranks them together.

    Parameters
    ----------
    thread : Executor
        One thread, for rankings that take long.
    most_waiting : int
        Lists that may wait; beyond, the service is busy.
    """

    def __init__(self, thread: Executor, most_waiting: int) -> None:
        self._thread, self._most_waiting = thread, most_waiting
        self._waiting: deque[tuple[Wanted, asyncio.Future[PlainRows]]] = deque()
        self._is_due = False
        self._seconds_per_list = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(self, wanted: Wanted) -> asyncio.Future[PlainRows]:
        """Return what the list will be."""
        if len(self._waiting) >= self._most_waiting:
            raise ProblemError(BUSY, "too many lists are waited for: try again later", 1)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[PlainRows] = loop.create_future()
        self._waiting.append((wanted, future))
        if not self._is_due:
            self._is_due = True
            # After every request that has arrived by now.
            loop.call_soon(self._start)
        return future

    def _start(self) -> None:
        batch = self._next()
        if not batch:
            self._is_due = False
            return
        metrics.batches.observe(len(batch))
        wanted, loop = [each for each, _ in batch], asyncio.get_running_loop()
        if self._seconds_per_list * len(batch) <= _SHORT_SECONDS:
            try:
                self._finish(batch, self._timed(wanted))
            except Exception as error:
                self._fail(batch, error)
            return
        ranking = loop.run_in_executor(self._thread, self._timed, wanted)
        ranking.add_done_callback(lambda done: self._settle(batch, done))

    def _next(self) -> list[tuple[Wanted, asyncio.Future[PlainRows]]]:
        """Take lists that go with each other."""
        batch: list[tuple[Wanted, asyncio.Future[PlainRows]]] = []
        while self._waiting and len(batch) < _MOST_AT_ONCE:
            wanted, future = self._waiting[0]
            if batch and not wanted.goes_with(batch[0][0]):
                break
            self._waiting.popleft()
            if not future.done():  # nobody waits any more for one that is
                batch.append((wanted, future))
        return batch

    def _timed(self, wanted: list[Wanted]) -> list[PlainRows]:
        start = time.perf_counter()
        rows = rank(wanted)
        taken = (time.perf_counter() - start) / len(wanted)
        self._seconds_per_list += _MEMORY * (taken - self._seconds_per_list)
        return rows

    def _settle(
        self,
        batch: list[tuple[Wanted, asyncio.Future[PlainRows]]],
        done: asyncio.Future[list[PlainRows]],
    ) -> None:
        error = done.exception()
        if error is None:
            self._finish(batch, done.result())
        else:
            self._fail(batch, error)

    def _finish(
        self, batch: list[tuple[Wanted, asyncio.Future[PlainRows]]], lists: list[PlainRows]
    ) -> None:
        for (_, future), rows in zip(batch, lists, strict=True):
            if not future.done():
                future.set_result(rows)
        asyncio.get_running_loop().call_soon(self._start)

    def _fail(
        self, batch: list[tuple[Wanted, asyncio.Future[PlainRows]]], error: BaseException
    ) -> None:
        for _, future in batch:
            if not future.done():
                future.set_exception(error)
        asyncio.get_running_loop().call_soon(self._start)
