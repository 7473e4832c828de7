"""Hooks of Schemathesis: half of the ids and aspects that it makes up are ones that there are."""

from __future__ import annotations

import zlib
from typing import Any

import schemathesis

ASPECTS = ["overall", "service", "value", "rooms"]
IDS = {
    "user": [f"u{n:06}" for n in range(3, 40)],
    "item": [f"h{n:06}" for n in range(40)],
    "by": [*ASPECTS, "all", "service=2"],
}
IDS |= dict.fromkeys(("first", "second", "allow", "block", "candidates", "orders"), IDS["item"])
IDS["users"] = IDS["user"]


def _known(name: str, value: Any) -> Any:
    """Return a value of the same type, which may be one that there is."""
    if isinstance(value, list):
        return [_known(name, each) for each in value]
    if isinstance(value, str) and name in IDS:
        number = zlib.crc32(value.encode(errors="replace"))
        return IDS[name][number // 2 % len(IDS[name])] if number % 2 else value
    if isinstance(value, dict):
        return {_aspect(name, key): _known(key, each) for key, each in value.items()}
    return value


def _aspect(name: str, key: Any) -> Any:
    """Return a key, which may be an aspect, of what maps aspects to numbers."""
    if name in ("ratings", "by") and key not in ("item", "user") and isinstance(key, str):
        return ASPECTS[zlib.crc32(key.encode(errors="replace")) % len(ASPECTS)]
    return key


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    del context
    return {k: _known(k, v) for k, v in query.items()} if isinstance(query, dict) else query


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    del context
    return {k: _known(k, v) for k, v in body.items()} if isinstance(body, dict) else body
