"""Cursors: where a list goes on, for the request that began it and the model that made it."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import msgspec

from dmrank.service.problems import INVALID, OTHER_MODEL, ProblemError

#: Rows of a list that can be reached page by page.
DEEPEST = 10_000


def digest(*asked: Any) -> int:
    """Return a number that tells what was asked from other things.

    Examples
    --------
    >>> digest("u1", {"service": 1.0}) == digest("u1", {"service": 1.0}) != digest("u2", None)
    True
    """
    return zlib.crc32(msgspec.msgpack.encode(asked))


def write_cursor(version: str, offset: int, asked: int) -> str:
    """Return a cursor.

    Parameters
    ----------
    version : str
        Of the model.
    offset : int
        Rows that were shown.
    asked : int
        The digest of what was asked.
    """
    return base64.urlsafe_b64encode(msgspec.msgpack.encode((version, offset, asked))).decode()


def read_cursor(cursor: str, version: str, asked: int) -> int:
    """Return how many rows were shown.

    Examples
    --------
    >>> read_cursor(write_cursor("a1", 10, 7), "a1", 7)
    10
    """
    try:
        packed = base64.b64decode(cursor, altchars=b"-_", validate=True)
        of_model, offset, of_request = msgspec.msgpack.decode(packed, type=tuple[str, int, int])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise ProblemError(INVALID, "cursor is none of ours: take it from an answer") from None
    if of_model != version:
        raise ProblemError(
            OTHER_MODEL, "another model is served since the cursor was given: begin the list anew"
        )
    if of_request != asked or not 0 < offset < DEEPEST:
        raise ProblemError(INVALID, "cursor belongs to another request: repeat all its options")
    return offset
