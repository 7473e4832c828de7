"""What happens to every request: who asks, how often, what, and how the answer was."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dmrank.service import metrics
from dmrank.service.keys import Key
from dmrank.service.logs import logger, trace_of
from dmrank.service.problems import (
    BUSY,
    FAULT,
    NO_KEY,
    NOT_ALLOWED,
    TOO_MANY,
    WRONG_HOST,
    ProblemError,
    problem_of,
    respond,
)
from dmrank.service.reading import QueryReader, read_body
from dmrank.service.routes import Endpoint
from dmrank.service.service import Service
from dmrank.service.settings import is_loopback

#: Requests that a worker answers at the same time.
_MOST_AT_ONCE = 4_000
_encode = msgspec.json.Encoder().encode


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


def handler(service: Service, endpoint: Endpoint) -> Handler:
    """Return what answers the requests of an endpoint."""
    query = None if endpoint.query is None else QueryReader(endpoint.query)
    body = None if endpoint.body is None else msgspec.json.Decoder(endpoint.body)
    route = (endpoint.method, endpoint.path)
    succeeded = metrics.requests.labels(*route, "200")

    def asked(request: Request) -> list[msgspec.Struct]:
        return [] if query is None else [query.read(request.scope["query_string"])]

    async def handle(request: Request) -> Response:
        start, key, fault, trace = time.perf_counter(), None, None, None
        service.answering += 1
        try:
            key = admit(service, endpoint, request)
            given = asked(request)
            if body is not None:
                given.append(await read_body(request, body))
            answer = await endpoint.answer(service, *given)
            response = answer if isinstance(answer, Response) else Json(_encode(answer))
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                fault, problem = error, ProblemError(FAULT, "a fault in the service: see its log")
            trace = trace_of(request.headers.get("traceparent"))
            response = respond(problem, trace)
        finally:
            service.answering -= 1
        taken = time.perf_counter() - start
        if response.status_code == 200:
            succeeded.observe(taken)
        else:
            metrics.requests.labels(*route, str(response.status_code)).observe(taken)
        if fault is not None or response.status_code >= 400 or service.settings.log_requests:
            trace = trace or trace_of(request.headers.get("traceparent"))
            _log(request, response, taken, trace, key, fault)
        return response

    return handle


def admit(service: Service, endpoint: Endpoint, request: Request) -> Key | None:
    """Return the key of a request, or raise what keeps it out."""
    if service.answering > _MOST_AT_ONCE:
        raise ProblemError(BUSY, "too many requests are being answered: try again later", 1)
    if service.keys is None:
        # Without keys the service is for this machine: no page of another host may use it, whatever
        # address its name was made to mean.
        if not _is_for_this_machine(_host(request.scope["headers"])):
            raise ProblemError(WRONG_HOST, "without keys the service answers to localhost alone")
        return None
    if endpoint.scope is None:
        return None
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    key = service.keys.find(given.strip()) if scheme.lower() == "bearer" else None
    if key is None:
        raise ProblemError(NO_KEY, "no key that is known was given: send Authorization: Bearer KEY")
    if endpoint.scope not in key.scopes and "admin" not in key.scopes:
        raise ProblemError(NOT_ALLOWED, f"the key {key.name!r} has no scope {endpoint.scope!r}")
    early = service.rates.wait(key.name, key.rate)
    if early > 0:
        raise ProblemError(
            TOO_MANY, f"the key {key.name!r} asks more than {key.rate:g} times a second",
            math.ceil(early),
        )  # fmt: skip
    return key


def _host(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the name by which a request calls the service."""
    return next((value for name, value in headers if name == b"host"), b"")


@lru_cache(maxsize=256)
def _is_for_this_machine(name: bytes) -> bool:
    host = name.decode("latin-1")
    return is_loopback(host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host)


class Json(Response):
    """An answer in JSON; Starlette would take as long for its headers as for the rest of it."""

    def __init__(self, body: bytes) -> None:
        self.status_code, self.background, self.body = 200, None, body
        self.raw_headers = [
            (b"content-length", str(len(body)).encode()),
            (b"content-type", b"application/json"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


def _log(
    request: Request,
    response: Response,
    seconds: float,
    trace: str,
    key: Key | None,
    fault: BaseException | None,
) -> None:
    told = {
        "trace": trace,
        "method": request.method,
        "path": request.url.path,
        "status": response.status_code,
        "milliseconds": round(seconds * 1_000, 3),
    }
    if key is not None:
        told["key"] = key.name
    if fault is not None:
        logger.error("a request has failed", exc_info=fault, extra=told)
    elif response.status_code >= 400:
        logger.warning("a request was refused", extra=told)
    else:
        logger.info("a request was answered", extra=told)
