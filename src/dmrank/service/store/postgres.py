"""Ratings in a PostgreSQL database."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dmrank.service.store.base import KeptRating, StoreError
from dmrank.support.extras import require

if TYPE_CHECKING:
    from psycopg import Connection

_TABLES = """
create table if not exists dmrank_ratings (
  "user" text not null, item text not null, ratings jsonb not null,
  time double precision not null, primary key ("user", item)
);
create table if not exists dmrank_revisions (
  "user" text primary key, revision bigint not null
);
"""
#: Of any number: two processes that make tables at once would trip over each other.
_LOCK = 5_406_117
#: Seconds to wait for a database that does not answer.
_PATIENCE = 2
#: After a failure the database is left alone for so many seconds, and requests do not wait for it.
_REST = 1.0


class PostgresStore:
    """Ratings in a database, over one connection that is made again when it breaks.

    Not for several threads: whoever uses it does so on one of its own.

    Parameters
    ----------
    url : str
        Such as ``postgresql://user@host/database``.
    """

    answers_at_once = False

    def __init__(self, url: str) -> None:
        require("psycopg", "a PostgreSQL database")
        self._url = url
        self._connection: Connection[Any] | None = None
        self._rests_until = 0.0

    def revisions(self, users: list[str]) -> Mapping[str, int]:
        """Return the revisions of those users who have one."""
        asked = 'select "user", revision from dmrank_revisions where "user" = any(%s)'
        with self._using() as connection:
            return dict(connection.execute(asked, (users,)).fetchall())

    def put(self, user: str, ratings: Mapping[str, Mapping[str, float]]) -> None:
        """Keep ratings of items."""
        now = time.time()
        rows = [(user, item, json.dumps(values), now) for item, values in ratings.items()]
        with self._using() as connection, connection.transaction():
            connection.cursor().executemany(
                "insert into dmrank_ratings values (%s, %s, %s, %s) "
                'on conflict ("user", item) do update '
                "set ratings = excluded.ratings, time = excluded.time",
                rows,
            )
            _revise(connection, user)

    def of_user(self, user: str) -> list[KeptRating]:
        """Return the ratings of a user, by item."""
        asked = 'select "user", item, ratings, time from dmrank_ratings where "user" = %s'
        with self._using() as connection:
            rows = connection.execute(f'{asked} order by item collate "C"', (user,)).fetchall()
        return [KeptRating(*row) for row in rows]

    def delete(self, user: str, item: str | None) -> int:
        """Delete the rating of one item, or all."""
        asked = 'delete from dmrank_ratings where "user" = %s and (%s::text is null or item = %s)'
        with self._using() as connection, connection.transaction():
            deleted = connection.execute(asked, (user, item, item)).rowcount
            if deleted:
                _revise(connection, user)
        return deleted

    def every(self) -> Iterator[KeptRating]:
        """Yield all ratings, by user and item."""
        asked = (
            'select "user", item, ratings, time from dmrank_ratings '
            'order by "user" collate "C", item collate "C"'
        )
        with (
            self._using() as connection,
            connection.transaction(),
            connection.cursor("every") as cursor,  # a named one: rows come in blocks
        ):
            for row in cursor.execute(asked):
                yield KeptRating(*row)

    def close(self) -> None:
        """Let go of the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _using(self) -> Iterator[Connection[Any]]:
        import psycopg

        if time.monotonic() < self._rests_until:
            raise StoreError("ratings cannot be reached: the database does not answer")
        try:
            yield self._connected()
        except (psycopg.Error, OSError) as error:
            self.close()
            self._rests_until = time.monotonic() + _REST
            # The text of a driver may name the password of the URL.
            raise StoreError(
                f"ratings cannot be reached: the database says {type(error).__name__}"
            ) from None

    def _connected(self) -> Connection[Any]:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_PATIENCE,
                options=f"-c statement_timeout={_PATIENCE * 1_000}",
                tcp_user_timeout=_PATIENCE * 1_000,
            )
            with self._connection.transaction():
                self._connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
                self._connection.execute(_TABLES)
        return self._connection


def _revise(connection: Connection[Any], user: str) -> None:
    connection.execute(
        "insert into dmrank_revisions values (%s, 1) "
        'on conflict ("user") do update set revision = dmrank_revisions.revision + 1',
        (user,),
    )
