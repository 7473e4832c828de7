"""Who may ask: keys that are kept as hashes, each with scopes and a rate."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from dmrank.support.errors import ConfigError, first_line
from dmrank.support.files import atomic_path

Scope = Literal["read", "write", "admin"]
_ALGORITHM = "sha256"
_PREFIX = "dmr_"


class Key(Struct, frozen=True, forbid_unknown_fields=True):
    """A key as its file keeps it.

    Attributes
    ----------
    name : str
        What it is called in logs.
    hash : str
        ``sha256:`` and the digest. A key is 32 random bytes: there is nothing to guess, so that
        a fast hash is as good as a slow one.
    scopes : tuple of str
        read: lists and everything else that changes nothing; write: ratings; admin: metrics.
    rate : float
        Requests per second, on average.
    """

    name: Annotated[str, Meta(min_length=1)]
    hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
    scopes: tuple[Scope, ...] = ("read",)
    rate: Annotated[float, Meta(gt=0)] = 100.0


class _File(Struct, forbid_unknown_fields=True):
    key: list[Key]


def new_key() -> str:
    """Return a key that nobody has.

    Examples
    --------
    >>> len(new_key())
    47
    """
    return _PREFIX + secrets.token_urlsafe(32)


def hashed(key: str) -> str:
    """Return what is kept of a key.

    Examples
    --------
    >>> hashed("secret")[:14]
    'sha256:2bb80d5'
    """
    return f"{_ALGORITHM}:{hashlib.sha256(key.encode()).hexdigest()}"


class Keys:
    """The keys that are known.

    Examples
    --------
    >>> keys = Keys([Key("shop", hashed("secret"))])
    >>> keys.find("secret").name, keys.find("guess")
    ('shop', None)
    """

    def __init__(self, known: list[Key]) -> None:
        self.known = known

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Read the file of keys."""
        try:
            text = path.read_text(encoding="utf-8")
            known = msgspec.convert(tomllib.loads(text), _File).key
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, msgspec.ValidationError) as error:
            raise ConfigError(
                f"{path} is no file of keys ({first_line(error)}): make one with `dmrank keys new`"
            ) from None
        names = [key.name for key in known]
        if len(set(names)) < len(names):
            raise ConfigError(f"{path} has two keys of one name: give each its own")
        return cls(known)

    def find(self, given: str) -> Key | None:
        """Return the key that was given; every known one is compared, in constant time."""
        digest, found = hashed(given), None
        for key in self.known:
            if hmac.compare_digest(key.hash, digest):
                found = key
        return found


def add_key(path: Path, name: str, scopes: tuple[Scope, ...], rate: float) -> str:
    """Add a new key to a file, which is made if it is not there, and return the key."""
    known = Keys.read(path).known if path.exists() else []
    if any(key.name == name for key in known):
        raise ConfigError(f"{path} has a key {name!r} already: choose another name")
    key = new_key()
    known.append(Key(name, hashed(key), scopes, rate))
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(map(_toml, known)), encoding="utf-8")
        temporary.chmod(0o600)
    return key


def _toml(key: Key) -> str:
    # Strings of JSON are strings of TOML.
    name, scopes = msgspec.json.encode(key.name).decode(), msgspec.json.encode(key.scopes).decode()
    return f'[[key]]\nname = {name}\nhash = "{key.hash}"\nscopes = {scopes}\nrate = {key.rate}\n'
