"""The page and its parts: files of the package, and the headers that keep them to themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

#: Nothing is loaded from, sent to or shown in another host.
SAFE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def page_routes() -> list[BaseRoute]:
    """Return the routes of the page: read once, for they are a few small files."""
    routes: list[BaseRoute] = []
    for file in files("dmrank.service").joinpath("page").iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is None:
            continue
        path = {"index.html": "/", "docs.html": "/docs"}.get(file.name, f"/page/{file.name}")
        routes.append(Route(path, _send(file.read_bytes(), kind)))
    return routes


def _send(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    mark = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {**SAFE_HEADERS, "etag": mark, "cache-control": "no-cache"}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(content, 200, headers, kind)

    return send
