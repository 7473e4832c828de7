"""Which store an address means."""

from __future__ import annotations

from pathlib import Path

from dmrank.service.store.base import Store
from dmrank.service.store.postgres import PostgresStore
from dmrank.service.store.sqlite import SqliteStore
from dmrank.support.errors import ConfigError

_POSTGRES = ("postgresql://", "postgres://")


def open_store(address: str) -> Store:
    """Return the store at an address: a file, or the URL of a PostgreSQL database.

    Examples
    --------
    >>> type(open_store("hotels.sqlite")).__name__
    'SqliteStore'
    >>> open_store("mysql://localhost/hotels")
    Traceback (most recent call last):
    ...
    dmrank.ConfigError: ratings='mysql://…' is no store: give a file, or postgresql://…
    """
    if address.startswith(_POSTGRES):
        return PostgresStore(address)
    scheme, found, _ = address.partition("://")
    if found:
        raise ConfigError(f"ratings='{scheme}://…' is no store: give a file, or postgresql://…")
    return SqliteStore(Path(address))


def is_file(address: str) -> bool:
    """Return whether a store is a file.

    Examples
    --------
    >>> is_file("hotels.sqlite"), is_file("postgresql://localhost/hotels")
    (True, False)
    """
    return not address.startswith(_POSTGRES)
