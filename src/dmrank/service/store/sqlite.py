"""Ratings in a file of SQLite, which many processes read while one writes (WAL)."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dmrank.service.store.base import KeptRating, StoreError

_TABLES = """
create table if not exists ratings (
  user text not null, item text not null, ratings text not null, time real not null,
  primary key (user, item)
) without rowid;
create table if not exists revisions (
  user text not null primary key, revision integer not null
) without rowid;
"""
#: Seconds to wait for another process that writes.
_PATIENCE = 5.0


class SqliteStore:
    """Ratings in a file, which is made when the first of them is written.

    Parameters
    ----------
    path : Path
        The file.
    """

    #: A look at the revisions takes microseconds.
    answers_at_once = True

    def __init__(self, path: Path) -> None:
        self._path, self._name = path, str(path)
        # A connection for each thread: writes wait for the disk on a thread of their own.
        self._local = threading.local()

    def revisions(self, users: list[str]) -> Mapping[str, int]:
        """Return the revisions of those users who have one."""
        if not self._exists():
            return {}
        with self._errors():
            look = self._connection().execute
            found = {
                user: look("select revision from revisions where user = ?", (user,)).fetchone()
                for user in users
            }
        return {user: row[0] for user, row in found.items() if row is not None}

    def put(self, user: str, ratings: Mapping[str, Mapping[str, float]]) -> None:
        """Keep ratings of items."""
        now = time.time()
        rows = [(user, item, json.dumps(values), now) for item, values in ratings.items()]
        with self._errors(), self._writing() as connection:
            connection.executemany("insert or replace into ratings values (?, ?, ?, ?)", rows)
            _revise(connection, user)

    def of_user(self, user: str) -> list[KeptRating]:
        """Return the ratings of a user, by item."""
        return list(self._select("where user = ? order by item", (user,)))

    def delete(self, user: str, item: str | None) -> int:
        """Delete the rating of one item, or all."""
        if not self._exists():
            return 0
        with self._errors(), self._writing() as connection:
            deleted = connection.execute(
                "delete from ratings where user = ? and (? is null or item = ?)", (user, item, item)
            ).rowcount
            if deleted:
                _revise(connection, user)
        return deleted

    def every(self) -> Iterator[KeptRating]:
        """Yield all ratings, by user and item."""
        return self._select("order by user, item", ())

    def close(self) -> None:
        """Let go of the file; connections of other threads go with them."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            del self._local.connection

    def _select(self, which: str, given: tuple[str, ...]) -> Iterator[KeptRating]:
        if not self._exists():
            return
        with self._errors():
            found = self._connection().execute(
                f"select user, item, ratings, time from ratings {which}", given
            )
            for user, item, ratings, when in found:
                yield KeptRating(user, item, json.loads(ratings), when)

    def _exists(self) -> bool:
        # `Path.exists` takes four times as long, and every list asks.
        return hasattr(self._local, "connection") or os.path.exists(self._name)  # noqa: PTH110

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            connection.execute("pragma journal_mode = wal")
            # What was answered survives also a machine that loses power.
            connection.execute("pragma synchronous = full")
            connection.executescript(_TABLES)
            self._local.connection = connection
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        connection.execute("begin immediate")
        try:
            yield connection
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"ratings in {self._path.name} cannot be used: {error}") from None


def _revise(connection: sqlite3.Connection, user: str) -> None:
    connection.execute(
        "insert into revisions values (?, 1) on conflict do update set revision = revision + 1",
        (user,),
    )
