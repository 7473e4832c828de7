"""How the service behaves: keys, rates, logs, metrics, headers, and its description."""

import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import httpx2 as httpx
import jsonschema_rs
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from dmrank import ConfigError
from dmrank.cli.app import app
from dmrank.service.keys import Keys, add_key
from dmrank.service.logs import JsonFormatter
from dmrank.service.openapi import openapi
from dmrank.service.rates import Rates
from tests.service.conftest import problem
from tests.service.loops import run_alone

LIST = "/v1/recommend?user=u000003&n=1"
RATING = {"ratings": [{"item": "h000001", "overall": 5}]}


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, dict[str, str]]:
    """Headers with keys of several scopes; `many` may ask often."""
    file = tmp_path / "keys.toml"
    scopes = {"reader": ("read",), "writer": ("read", "write"), "operator": ("admin",)}
    found = {name: add_key(file, name, scope, 1e6) for name, scope in scopes.items()}
    found["slow"] = add_key(file, "slow", ("read",), 2.0)
    return {name: {"authorization": f"Bearer {key}"} for name, key in found.items()}


@pytest.fixture
def guarded(
    serve: Callable[..., TestClient], hurdle_file: Path, tmp_path: Path, keys: object
) -> TestClient:
    del keys
    store = str(tmp_path / "ratings.sqlite")
    return serve(hurdle_file, keys=str(tmp_path / "keys.toml"), ratings=store)


def test_with_keys_nothing_is_answered_without_one(guarded: TestClient, keys: dict) -> None:
    for headers in ({}, {"authorization": "Bearer guess"}, {"authorization": "Basic x"}):
        answer = guarded.get(LIST, headers=headers)
        assert "Authorization: Bearer KEY" in problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.get(LIST, headers=keys["reader"]).status_code == 200
    # The page asks for the key itself, and a probe has none.
    for path in ("/", "/docs", "/openapi.json", "/health/live", "/health/ready"):
        assert guarded.get(path).status_code == 200


def test_a_key_allows_what_its_scopes_say(guarded: TestClient, keys: dict) -> None:
    asked = {"json": RATING}
    assert "no scope 'write'" in problem(
        guarded.put("/v1/ratings?user=ann", headers=keys["reader"], **asked), 403
    )
    assert guarded.put("/v1/ratings?user=ann", headers=keys["writer"], **asked).status_code == 200
    assert "no scope 'admin'" in problem(guarded.get("/metrics", headers=keys["writer"]), 403)
    assert guarded.get("/metrics", headers=keys["operator"]).status_code == 200
    assert guarded.get(LIST, headers=keys["operator"]).status_code == 200


def test_a_key_that_asks_too_often_is_told_when_to_come_back(
    guarded: TestClient, keys: dict
) -> None:
    answers = [guarded.get(LIST, headers=keys["slow"]) for _ in range(6)]
    statuses = [answer.status_code for answer in answers]
    assert statuses[:2] == [200, 200]
    assert statuses[-1] == 429
    assert "2 times a second" in problem(answers[-1], 429)
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_a_rate_counts_over_all_workers(tmp_path: Path) -> None:
    one, other = Rates(tmp_path / "rates"), Rates(tmp_path / "rates")
    start = time.monotonic()
    allowed = sum(rates.wait("shop", 50.0) == 0 for _ in range(100) for rates in (one, other))
    # A second's worth at once, and what came due meanwhile.
    assert 50 <= allowed <= 52 + 50 * (time.monotonic() - start)
    assert one.wait("other", 50.0) == 0


def test_keys_are_kept_as_hashes_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    ran = CliRunner().invoke(app, ["keys", "new", str(file), "--name", 'a "b"', "--scope", "write"])
    assert ran.exit_code == 0, ran.output
    key = ran.stdout.split()[0]
    assert key not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    found = Keys.read(file).find(key)
    assert (found.name, found.scopes) == ('a "b"', ("write",))
    again = CliRunner().invoke(app, ["keys", "new", str(file), "--name", 'a "b"'])
    assert "has a key" in str(again.exception)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense", "is no file of keys"),
        ("[[key]]\nname = 'x'\nhash = 'secret'", "is no file of keys"),
        ("[[key]]\nname = 'x'\nhash = 'sha256:" + "0" * 64 + "'\nscopes = ['all']", "no file of"),
        ("", "is no file of keys"),
    ],
)
def test_a_file_that_holds_no_keys_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        Keys.read(file)


def test_other_keys_count_as_soon_as_they_are_there(
    guarded: TestClient, keys: dict, tmp_path: Path
) -> None:
    new = add_key(tmp_path / "keys.toml", "late", ("read",), 1e6)
    late = {"authorization": f"Bearer {new}"}
    end = time.monotonic() + 10
    while guarded.get(LIST, headers=late).status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert guarded.get(LIST, headers=keys["reader"]).status_code == 200


def test_without_keys_other_hosts_are_refused(
    serve: Callable[..., TestClient], hurdle_file: Path
) -> None:
    """A page of a host whose name means this machine could else ask (DNS rebinding)."""
    client = serve(hurdle_file)
    for host in ("evil.example", "evil.example:8088", "", "localhost.evil.example"):
        problem(client.get(LIST, headers={"host": host}), 421)
    for host in ("localhost", "localhost:8088", "127.0.0.1:8088", "[::1]:8088", "[::1]"):
        assert client.get(LIST, headers={"host": host}).status_code == 200


def test_no_other_page_may_read_answers(client: TestClient) -> None:
    answer = client.get(LIST, headers={"origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = {"origin": "https://evil.example", "access-control-request-method": "PUT"}
    problem(client.options("/v1/ratings", headers=asked), 405)


def test_the_page_is_kept_to_itself(client: TestClient) -> None:
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    mark = page.headers["etag"]
    assert client.get("/", headers={"if-none-match": mark}).status_code == 304


def test_failures_are_logged_with_their_trace_and_without_keys(
    guarded: TestClient, keys: dict, caplog: pytest.LogCaptureFixture
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {**keys["reader"], "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    with caplog.at_level(logging.INFO, "dmrank.service"):
        answer = guarded.get("/v1/recommend?user=nobody", headers=headers)
        guarded.get(LIST, headers=headers)
    assert trace in answer.json()["instance"]
    (record,) = [each for each in caplog.records if each.name == "dmrank.service"]
    line = json.loads(JsonFormatter().format(record))
    assert line["trace"] == trace
    assert (line["status"], line["path"], line["key"]) == (404, "/v1/recommend", "reader")
    assert keys["reader"]["authorization"].split()[1] not in JsonFormatter().format(record)


def test_every_request_is_logged_on_request(
    serve: Callable[..., TestClient], hurdle_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve(hurdle_file, log_requests=True)
    with caplog.at_level(logging.INFO, "dmrank.service"):
        client.get(LIST)
    assert [record.levelname for record in caplog.records if "answered" in record.message]


def _count(text: str, **labels: str) -> float:
    wanted = [f'{name}="{value}"' for name, value in labels.items()]
    lines = [line for line in text.splitlines() if line.startswith("dmrank_request_seconds_count")]
    return sum(float(line.split()[-1]) for line in lines if all(each in line for each in wanted))


def test_metrics_count_failures_too(client: TestClient) -> None:
    before = client.get("/metrics").text
    client.get(LIST)
    client.get("/v1/recommend?user=nobody")
    client.get("/nowhere")
    after = client.get("/metrics").text
    for labels in (
        {"route": "/v1/recommend", "status": "200"},
        {"route": "/v1/recommend", "status": "404"},
        {"route": "none", "status": "404"},
    ):
        assert _count(after, **labels) == _count(before, **labels) + 1
    assert "dmrank_lists_at_once_count" in after
    assert "dmrank_answering" in after


def test_too_many_lists_at_once_are_refused_and_the_rest_answered(
    serve: Callable[..., TestClient], hurdle_file: Path
) -> None:
    client = serve(hurdle_file, most_waiting=5)
    users = [f"u{n:06}" for n in range(3, 12)]
    refused = client.post("/v1/recommend", json={"users": users, "n": 1})
    assert "try again later" in problem(refused, 503)
    assert refused.headers["retry-after"] == "1"
    assert client.post("/v1/recommend", json={"users": users[:4], "n": 1}).status_code == 200


def test_a_worker_answers_four_thousand_requests_at_once_and_refuses_more(
    client: TestClient,
) -> None:
    async def ask() -> tuple[list[httpx.Response], httpx.Response, httpx.Response]:
        complete = anyio.Event()

        async def slow_body() -> AsyncIterator[bytes]:
            await complete.wait()
            yield json.dumps({"user": "u000003", "n": 0}).encode()

        async def begin() -> None:
            answers.append(await asking.post("/v1/recommend", content=slow_body()))

        answers: list[httpx.Response] = []
        transport = httpx.ASGITransport(client.app)
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(4_000):
                tasks.start_soon(begin)
            await anyio.wait_all_tasks_blocked()
            refused = await asking.get(LIST)
            complete.set()
            while len(answers) < 4_000:
                await anyio.sleep(0.01)
            afterwards = await asking.get(LIST)
        return answers, refused, afterwards

    answers, refused, afterwards = run_alone(ask())
    assert "too many requests are being answered" in problem(refused, 503)
    assert refused.headers["retry-after"] == "1"
    # Lists of no length: these were read to their end, and told so.
    assert {answer.status_code for answer in answers} == {422}
    assert afterwards.status_code == 200


def test_the_description_is_openapi_and_fits_the_answers(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert described == json.loads(json.dumps(openapi()))
    assert described["openapi"].startswith("3.1")
    operations = [
        operation for methods in described["paths"].values() for operation in methods.values()
    ]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(operation["summary"].endswith((".", ";")) for operation in operations)
    lists = {**described["components"]["schemas"]["Lists"], "components": described["components"]}
    jsonschema_rs.validator_for(lists).validate(client.get(LIST).json())


def test_a_health_check_needs_no_model_knowledge(client: TestClient) -> None:
    assert client.get("/health/live").json()["status"] == "live"
    assert client.head("/health/ready").status_code == 200
