"""The same stack with an answer that is there already: what a list costs beside the ranking."""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def app() -> Starlette:
    body = b"x" * int(os.environ["DMRANK_BENCH_LENGTH"])

    async def answer(request: Request) -> Response:
        assert request.query_params is not None
        return Response(body, media_type="application/json")

    return Starlette(routes=[Route("/v1/recommend", answer), Route("/", answer)])
