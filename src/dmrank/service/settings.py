"""How the service is run: what `dmrank serve` hands on to its workers."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from dmrank.support.errors import ConfigError

_VARIABLE = "DMRANK_SERVICE"


class Settings(Struct, kw_only=True, frozen=True):
    """How the service is run.

    Attributes
    ----------
    parent : int or None
        The process that started the workers, without which they end.
    folder : str
        What the processes of this service share: copies of the model, counts of requests.
    host, port
        Where it listens.
    workers : int
        How many processes answer.
    keys : str or None
        File with the keys; None: everybody on this machine may ask.
    ratings : str or None
        Where ratings are kept: a file of SQLite, or the URL of a PostgreSQL database.
    log_requests : bool
        Whether every request is logged, or only those that failed.
    most_waiting : int
        Lists that may wait in a worker before it says that it is busy.
    """

    folder: str
    parent: int | None = None
    host: str = "127.0.0.1"
    port: int = 8088
    workers: int = 1
    keys: str | None = None
    ratings: str | None = None
    log_requests: bool = False
    most_waiting: int = 2_000

    def hand_on(self) -> None:
        """Put the settings where processes that are started from now on find them."""
        os.environ[_VARIABLE] = msgspec.json.encode(self).decode()

    @classmethod
    def handed_on(cls) -> Settings:
        """Return the settings of the process that started this one."""
        return msgspec.json.decode(os.environ[_VARIABLE], type=cls)

    @property
    def shared(self) -> Path:
        """The folder that the processes share."""
        return Path(self.folder)


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, keys: Path | None) -> None:
    """Refuse to serve everybody who can reach an address without keys."""
    if not is_loopback(host) and keys is None:
        raise ConfigError(
            f"host={host!r} can be reached from other machines: give keys (`dmrank keys new` makes "
            "one), or leave host out to serve this machine alone"
        )
