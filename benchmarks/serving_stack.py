"""What a list costs beside the ranking: the same handler on several web frameworks and servers.

    pip install starlette msgspec granian litestar fastapi uvicorn uvloop httptools
    python -m benchmarks.serving_stack [--seconds 5] [--rounds 3] [--record]    # needs wrk

A handler reads user, n and a mix of aspects from the query, takes ten rows that are there already,
with a rating and a contribution for each of seven aspects, and encodes them as JSON: all that a
service does but rank. One worker, 32 connections that ask as fast as they are answered; rounds take
turns, and the median counts.
"""

from __future__ import annotations

import argparse
import itertools
import re
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.record import add_record_option, as_called, write_record

ASPECTS = ("overall", "sleep_quality", "service", "value", "rooms", "cleanliness", "location")
ROWS = [
    {
        "rank": rank,
        "item": f"h{rank:06}",
        "name": f"Hotel number {rank}",
        "score": 5 - rank / 7,
        "ratings": dict.fromkeys(ASPECTS, 5 - rank / 9),
        "contributions": dict.fromkeys(ASPECTS, rank / 70),
    }
    for rank in range(1, 11)
]
QUERY = "user=u000012&n=10&by=service:2&by=value:1"
SERVERS = {
    "granian": "-m granian --interface asgi --factory --log-level error --port {port}",
    "uvicorn": "-m uvicorn --factory --no-access-log --log-level error --port {port}",
}
FRAMEWORKS = {
    "starlette_msgspec": "Starlette and msgspec",
    "litestar": "Litestar",
    "fastapi": "FastAPI",
}
STACKS = tuple(itertools.product(FRAMEWORKS, SERVERS))
PACKAGES = ("starlette", "msgspec", "litestar", "fastapi", "granian", "uvicorn")


def mix_of(by: list[str]) -> dict[str, float]:
    return {name: float(weight) for name, _, weight in (each.partition(":") for each in by)}


def starlette_msgspec() -> Any:
    import msgspec
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    row = msgspec.defstruct("Row", [(name, Any) for name in ROWS[0]])
    answer = msgspec.defstruct("Answer", [("user", str), ("by", dict[str, float]), ("rows", list)])
    rows, encoder = [row(**each) for each in ROWS], msgspec.json.Encoder()

    async def recommend(request: Request) -> Response:
        query = request.query_params
        n = int(query.get("n", "10"))
        given = answer(user=query["user"], by=mix_of(query.getlist("by")), rows=rows[:n])
        return Response(encoder.encode(given), media_type="application/json")

    return Starlette(routes=[Route("/v1/recommend", recommend)])


def litestar() -> Any:
    import msgspec
    from litestar import Litestar, get

    row = msgspec.defstruct("Row", [(name, Any) for name in ROWS[0]])
    rows = [row(**each) for each in ROWS]

    async def recommend(user: str, by: list[str], n: int = 10) -> dict[str, Any]:
        return {"user": user, "by": mix_of(by), "rows": rows[:n]}

    recommend.__annotations__ = {"user": str, "by": list[str], "n": int, "return": dict[str, Any]}
    return Litestar(route_handlers=[get("/v1/recommend")(recommend)], openapi_config=None)


def fastapi() -> Any:
    from fastapi import FastAPI, Query
    from pydantic import create_model

    row = create_model("Row", **dict.fromkeys(ROWS[0], (Any, ...)))
    answer = create_model(
        "Answer", user=(str, ...), by=(dict[str, float], ...), rows=(list[row], ...)
    )
    rows, app = [row(**each) for each in ROWS], FastAPI(openapi_url=None)

    async def recommend(user: str, by: Any, n: int = 10) -> Any:
        return answer(user=user, by=mix_of(by), rows=rows[:n])

    recommend.__annotations__ = {"user": str, "by": list[str], "n": int, "return": answer}
    recommend.__defaults__ = (Query(), 10)
    app.get("/v1/recommend")(recommend)
    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    add_record_option(parser)
    options = parser.parse_args()
    found: dict[tuple[str, str], list[float]] = {stack: [] for stack in STACKS}
    for _ in range(options.rounds):
        for stack, rates in found.items():
            rates.append(requests_per_second(*stack, options.seconds))
    for (framework, server), rates in found.items():
        shown = ", ".join(f"{rate:,.0f}" for rate in rates)
        print(
            f"{framework:18} {server:8} {statistics.median(rates):8,.0f} lists a second ({shown})"
        )
    if options.record:
        middle = {stack: f"{statistics.median(rates):,.0f}" for stack, rates in found.items()}
        rows = [
            {"lists a second": words, **{server: middle[name, server] for server in SERVERS}}
            for name, words in FRAMEWORKS.items()
        ]
        write_record("serving-stack", as_called("serving_stack"), rows, PACKAGES)


def requests_per_second(framework: str, server: str, seconds: int) -> float:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = SERVERS[server].format(port=port).split()
    target = f"benchmarks.serving_stack:{framework}"
    process = subprocess.Popen([sys.executable, *line, target])
    try:
        url = f"http://127.0.0.1:{port}/v1/recommend?{QUERY}"
        wait_for(port)
        load(url, 1)
        return load(url, seconds)
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def load(url: str, seconds: int) -> float:
    """Ask as fast as answers come; an answer other than 200 is an error."""
    run = subprocess.run(
        ["wrk", "--threads", "1", "--connections", "32", "--duration", f"{seconds}s", url],
        capture_output=True,
        text=True,
        check=True,
    )
    if "Non-2xx" in run.stdout:
        raise SystemExit(f"{url} is not answered:\n{run.stdout}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", run.stdout)
    assert rate is not None
    return float(rate[1])


if __name__ == "__main__":
    main()
