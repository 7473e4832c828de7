"""Problems as RFC 9457 has them: the sentence of the library, and the status that fits it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from starlette.responses import Response

from dmrank.service.messages import Problem
from dmrank.support.errors import (
    ConfigError,
    DataError,
    DmrankError,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    UnsupportedError,
    WriteError,
    first_line,
)

#: What is kept of the beginning and of the end of a sentence: what was asked may be long.
_KEPT = 250
MEDIA_TYPE = "application/problem+json"


class Kind(NamedTuple):
    """A kind of problem: its name, title and status."""

    name: str
    title: str
    status: int


BAD_REQUEST = Kind("bad-request", "The request cannot be read", 400)
NO_KEY = Kind("key", "A key is needed", 401)
NOT_ALLOWED = Kind("scope", "The key does not allow this", 403)
NOT_FOUND = Kind("not-found", "There is nothing here", 404)
WRONG_METHOD = Kind("method", "The method is not known here", 405)
OTHER_MODEL = Kind("other-model", "The cursor is of another model", 410)
TOO_LARGE = Kind("too-large", "The request is too large", 413)
WRONG_MEDIA_TYPE = Kind("media-type", "The body is no JSON", 415)
WRONG_HOST = Kind("host", "The service is for this machine alone", 421)
INVALID = Kind("invalid", "Something in the request is not valid", 422)
TOO_MANY = Kind("rate", "The key asks too often", 429)
FAULT = Kind("fault", "A fault in the service", 500)
BUSY = Kind("busy", "The service is busy", 503)
NO_STORE = Kind("store", "Ratings cannot be reached", 503)

#: The first that fits counts.
_OF_ERRORS: tuple[tuple[type[BaseException], Kind], ...] = (
    (UnknownUserError, Kind("unknown-user", "The user is not known", 404)),
    (UnknownItemError, Kind("unknown-item", "The item is not known", 404)),
    (UnknownAspectError, Kind("unknown-aspect", "The aspect is not known", 422)),
    (UnsupportedError, Kind("unsupported", "The model cannot answer this", 422)),
    (WriteError, NO_STORE),
    (ConfigError, INVALID),
    (DataError, INVALID),
    (msgspec.ValidationError, INVALID),
    (msgspec.DecodeError, BAD_REQUEST),
)


class ProblemError(Exception):
    """A problem that is answered instead of what was asked for.

    Parameters
    ----------
    kind : Kind
        What it is.
    detail : str
        A sentence that names the thing and the remedy.
    retry_after : int, optional
        Seconds after which to try again.
    """

    def __init__(self, kind: Kind, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.retry_after = kind, detail, retry_after


def problem_of(error: BaseException) -> ProblemError | None:
    """Return the problem that an error is; None: a fault of ours.

    Examples
    --------
    >>> problem_of(UnknownItemError("item 'Ritz' is not in the ratings")).kind.status
    404
    """
    if isinstance(error, ProblemError):
        return error
    for type_, kind in _OF_ERRORS:
        if isinstance(error, type_):
            retry = 1 if kind.status == BUSY.status else None
            return ProblemError(kind, _sentence(error), retry)
    return None


def _sentence(error: BaseException) -> str:
    text = first_line(error)
    if not isinstance(error, DmrankError):
        text = text.replace(" - at `$.", ": `").replace(" - at `$", ": `")
    return text if len(text) <= 2 * _KEPT else f"{text[:_KEPT]} … {text[-_KEPT:]}"


def respond(problem: ProblemError, trace: str) -> Response:
    """Return the answer that a problem is.

    Parameters
    ----------
    problem : ProblemError
        What is wrong.
    trace : str
        Id by which the logs name the request.
    """
    kind = problem.kind
    body = Problem(
        type=f"urn:dmrank:problem:{kind.name}",
        title=kind.title,
        status=kind.status,
        detail=problem.detail,
        instance=f"urn:dmrank:trace:{trace}",
    )
    headers = {}
    if problem.retry_after is not None:
        headers["retry-after"] = str(problem.retry_after)
    if kind is NO_KEY:
        headers["www-authenticate"] = "Bearer"
    return Response(msgspec.json.encode(body), kind.status, headers, MEDIA_TYPE)
