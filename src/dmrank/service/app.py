"""The application of one worker: routes, and what is opened and closed around them."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dmrank.service import metrics
from dmrank.service.copies import Copies
from dmrank.service.dispatch import Handler, handler
from dmrank.service.keys import Keys
from dmrank.service.logs import log_to_standard_error, logger, trace_of
from dmrank.service.openapi import openapi
from dmrank.service.problems import NOT_FOUND, WRONG_METHOD, ProblemError, respond
from dmrank.service.routes import ENDPOINTS
from dmrank.service.service import Service
from dmrank.service.settings import Settings
from dmrank.service.static import SAFE_HEADERS, page_routes
from dmrank.service.watching import Watcher, open_latest
from dmrank.support.errors import ModelFileError

#: New objects, and looks at these, before garbage is looked for: answers leave none.
_GARBAGE = (20_000, 20, 20)


def worker() -> App:
    """Return the application of a worker that `dmrank serve` has started.

    If there is no model to begin with, the service ends: who started it says why.
    """
    log_to_standard_error()
    settings = Settings.handed_on()
    # What is imported stays: there is no use in looking for garbage among it.
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    try:
        return make_app(settings)
    except Exception as error:
        if not isinstance(error, ModelFileError):
            logger.exception("a worker could not begin")
        os.kill(os.getppid(), signal.SIGTERM)
        # Without a traceback: what is wrong with a file is told in one line.
        raise SystemExit(1) from None


class App:
    """The application: questions go straight to their handlers, the rest to Starlette.

    Starlette looks through its routes one after the other, within layers that catch what handlers
    do not raise; that takes half as long as a list.

    Parameters
    ----------
    handlers : mapping
        What answers a method and a path.
    rest : Starlette
        Everything else: the page, what is not found, beginning and end.
    """

    def __init__(self, handlers: Mapping[tuple[str, str], Handler], rest: Starlette) -> None:
        self._handlers, self.rest = handlers, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        found = None
        if scope["type"] == "http":
            # HEAD is GET whose body the server leaves out.
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            found = self._handlers.get((method, scope["path"]))
        if found is None:
            await self.rest(scope, receive, send)
        else:
            response = await found(Request(scope, receive))
            await response(scope, receive, send)


def make_app(settings: Settings) -> App:
    """Return the application, with the latest model of the shared folder."""
    copies = Copies(settings.shared)
    served, number = open_latest(copies)
    keys = None if settings.keys is None else Keys.read(Path(settings.keys))
    service = Service(settings, served, keys)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        watcher = Watcher(service, copies, number)
        watcher.start()
        logger.info("a model is served", extra={"model": service.served.version})
        yield
        watcher.stop()
        service.close()

    rest = Starlette(
        routes=[Route("/openapi.json", _describe()), *page_routes()],
        exception_handlers={HTTPException: _not_found},  # type: ignore[dict-item]
        lifespan=lifespan,
    )
    rest.router.redirect_slashes = False
    return App({(each.method, each.path): handler(service, each) for each in ENDPOINTS}, rest)


def _describe() -> Handler:
    described = msgspec.json.encode(openapi())

    async def describe(request: Request) -> Response:
        del request
        return Response(described, 200, SAFE_HEADERS, "application/json")

    return describe


async def _not_found(request: Request, error: HTTPException) -> Response:
    methods = sorted(each.method for each in ENDPOINTS if each.path == request.url.path)
    is_known = bool(methods) or error.status_code == WRONG_METHOD.status
    kind = WRONG_METHOD if is_known else NOT_FOUND
    detail = f"{request.method} {request.url.path[:200]} is no question of this service: see /docs"
    response = respond(ProblemError(kind, detail), trace_of(request.headers.get("traceparent")))
    if is_known:
        response.headers["allow"] = ", ".join(methods or ["GET"])
    metrics.requests.labels(request.method[:10], "none", str(kind.status)).observe(0)
    return response
