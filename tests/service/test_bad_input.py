"""Bad input: each a problem that names the thing, never a fault of the service."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

from dmrank import ItemMean, make_ratings, read_ratings
from tests.service.conftest import problem

LIST = "/v1/recommend?user=u000003"


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/recommend", 422, "missing required field `user`"),
        ("/v1/recommend?user=", 404, "user '' is not in the ratings"),
        (f"{LIST}&by=servise", 422, "did you mean 'service'?"),
        (f"{LIST}&by=service=", 422, "is not ASPECT or ASPECT=WEIGHT"),
        (f"{LIST}&by=service=-1", 422, "weight -1.0 of aspect 'service'"),
        (f"{LIST}&by=service=nan", 422, "weight nan of aspect 'service'"),
        (f"{LIST}&by=service=inf", 422, "weight inf of aspect 'service'"),
        (f"{LIST}&by=service=1e300", 422, "weight 1e+300 of aspect 'service'"),
        (f"{LIST}&by=service=0", 422, "no aspect has a weight above 0"),
        (f"{LIST}&by=service&by=service=2", 422, "names 'service' twice"),
        (f"{LIST}&by=", 422, "has no aspect ''"),
        (f"{LIST}&n=0", 422, "`int` >= 1: `n`"),
        (f"{LIST}&n=1001", 422, "`int` <= 1000: `n`"),
        (f"{LIST}&n=ten", 422, "Expected `int`, got `str`: `n`"),
        (f"{LIST}&n=2&n=3", 422, "parameter 'n' is given twice"),
        (f"{LIST}&preference=2", 422, "<= 1.0: `preference`"),
        (f"{LIST}&preference=nan", 422, "preference"),
        (f"{LIST}&prefrence=0.5", 422, "did you mean 'preference'?"),
        (f"{LIST}&on_unknown=guess", 422, "Invalid enum value 'guess'"),
        (f"{LIST}&exclude_seen=perhaps", 422, "exclude_seen"),
        (f"{LIST}&allow=Ritz", 404, "item 'Ritz' is not in the ratings"),
        (f"{LIST}&block=Ritz", 404, "item 'Ritz' is not in the ratings"),
        (f"{LIST}&cursor=%ff", 400, "is no UTF-8"),
        (f"/v1/recommend?{'user=u000003&' * 1_001}n=1", 422, "length <= 1000: `user`"),
        (f"/v1/recommend?{'user=u000003&' * 30}n=1000", 422, "more than 20,000 rows"),
        ("/v1/compare?user=u000003&first=h000001&second=h000001", 422, "is given twice"),
        ("/v1/compare?user=u000003&first=h000001", 422, "missing required field `second`"),
        ("/v1/explain?user=u000003&item=h999999", 404, "item 'h999999'"),
        ("/v1/similar", 422, "give either an item or a user"),
        ("/v1/similar?item=h000001&user=u000003", 422, "give either an item or a user"),
        ("/v1/questions?n=11", 422, "<= 10: `n`"),
        ("/v1/scores?user=nobody", 404, "user 'nobody'"),
        ("/v1/ratings", 422, "missing required field `user`"),
        ("/v1/nothing", 404, "no question of this service"),
        ("/page/../pyproject.toml", 404, "no question of this service"),
        ("/v1/recommend/", 404, "no question of this service"),
    ],
)
def test_an_odd_address(client: TestClient, path: str, status: int, says: str) -> None:
    assert says in problem(client.get(path), status)


@pytest.mark.parametrize(
    "user",
    ["a/b", "../../etc/passwd", "🏨", "x" * 10_000, "\n\t\x1b[31m", "' or 1=1 --", "<b>", "%"],
)
def test_odd_ids_are_named(client: TestClient, user: str) -> None:
    for method in (client.get, client.delete):
        path = "/v1/recommend" if method == client.get else "/v1/ratings"
        answer = method(f"{path}?user={quote(user, safe='')}")
        assert answer.status_code in ((404,) if path == "/v1/recommend" else (200, 422))
        assert "\x1b" not in answer.text
        assert len(answer.content) < 30_000
    asked = {"users": [user]}
    assert "is not in the ratings" in problem(client.post("/v1/recommend", json=asked), 404)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "Input data was truncated"),
        (b"{", 400, "Input data was truncated"),
        (b"nonsense", 400, "JSON is malformed"),
        (b"[" * 400_000, 422, "Expected `object`, got `array`"),
        (b'{"users": ' + b"[" * 400_000, 422, "got `array`"),
        (b'{"users": ["u000003"], "by": ' + b'{"a":' * 100_000, 422, "got `object`"),
        (b'{"users": ["\xff\xfe"]}', 400, "no UTF-8"),
        (b'{"users": "u000003"}', 422, "Expected `array`, got `str`: `users`"),
        (b'{"users": []}', 422, "length >= 1: `users`"),
        (b'{"users": [null]}', 422, "users"),
        (b'{"users": [1.5]}', 422, "users"),
        (b'{"users": ["u000003"], "n": 1e400}', 422, "n"),
        (b'{"users": ["u000003"], "n": true}', 422, "Expected `int`, got `bool`: `n`"),
        (b'{"users": ["u000003"], "by": {"service": "much"}}', 422, "Expected `float`"),
        (b'{"users": ["u000003"], "by": {}}', 422, "no aspect has a weight above 0"),
        (b'{"users": ["u000003"], "by": {"service": -2}}', 422, "weight -2.0"),
        (b'{"users": ["u000003"], "by": 3}', 422, "by"),
        (b'{"users": ["u000003"], "colour": 3}', 422, "unknown field `colour`"),
        (b'{"users": ["u000003"], "candidates": {"u000003": ["Ritz"]}}', 404, "item 'Ritz'"),
        (json.dumps({"users": ["u1"], "allow": ["x"] * 10_001}).encode(), 422, "10000: `allow`"),
        (b'{"users": ["u000003"], "allow": ["' + b"x" * 1_000_000 + b'"]}', 413, "1,000,000"),
    ],
)
def test_an_odd_body(client: TestClient, body: bytes, status: int, says: str) -> None:
    json_type = {"content-type": "application/json"}
    found = problem(client.post("/v1/recommend", content=body, headers=json_type), status)
    assert says in found


def test_a_body_of_another_kind(client: TestClient) -> None:
    answer = client.post("/v1/recommend", content=b"users=1", headers={"content-type": "text/csv"})
    assert "send application/json" in problem(answer, 415)


def test_a_body_that_does_not_say_how_long_it_is(client: TestClient) -> None:
    def parts():
        for _ in range(30):
            yield b" " * 65_536

    answer = client.post(
        "/v1/recommend", content=parts(), headers={"content-type": "application/json"}
    )
    assert "more than 1,000,000 bytes" in problem(answer, 413)


@pytest.mark.parametrize(
    ("rating", "status", "says"),
    [
        ({"overall": 5}, 422, "names no item"),
        ({"item": 3.5, "overall": 5}, 422, "names no item"),
        ({"item": "Ritz", "overall": 5}, 404, "item 'Ritz'"),
        ({"item": "h000001", "overal": 5}, 422, "did you mean 'overall'?"),
        ({"item": "h000001", "overall": "five"}, 422, "'five' of 'overall' is no number"),
        ({"item": "h000001", "overall": 7}, 422, "is outside its scale 1–5"),
        ({"item": "h000001", "overall": -1e300}, 422, "is outside its scale 1–5"),
        ({"item": "h000001"}, 422, "no rating on any aspect"),
        ({"item": "h000001", "overall": None}, 422, "no rating on any aspect"),
    ],
)
def test_odd_ratings_of_newcomers_and_of_users(
    client: TestClient, rating: dict, status: int, says: str
) -> None:
    given = {"ratings": [rating]}
    assert says in problem(client.post("/v1/recommend/new", json=given), status)
    assert says in problem(client.put("/v1/ratings?user=u000003", json=given), status)
    assert client.get("/v1/ratings?user=u000003").json()["ratings"] == []


def test_who_is_asked_about_is_said_once(client: TestClient) -> None:
    two = {"first": "h000001", "second": "h000002"}
    ratings = [{"item": "h000003", "overall": 4}]
    for who in ({}, {"user": "u000003", "ratings": ratings}):
        answer = client.post("/v1/compare", json={**two, **who})
        assert "either a user, or ratings" in problem(answer, 422)


@pytest.mark.parametrize("order", [["h000001"], ["h000001", "h000002", "h000003"], "ab", [1, 2]])
def test_odd_orders(client: TestClient, order: object) -> None:
    answer = client.post("/v1/weights", json={"user": "u000003", "orders": [order]})
    assert answer.status_code in (404, 422)


def test_names_of_items_that_are_html_stay_text(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    table = make_ratings(40, 20, 500, seed=1).ratings.to_polars()
    named = table.with_columns(item_name=pl.lit("<script>alert(1)</script>{first}"))
    client = serve(ItemMean().fit(read_ratings(named)).save(tmp_path / "odd.dmrank"))
    found = client.get("/v1/recommend?user=u000003&n=1")
    assert found.headers["content-type"] == "application/json"
    assert found.json()["lists"][0]["rows"][0]["name"] == "<script>alert(1)</script>{first}"
    two = client.get("/v1/compare?user=u000003&first=h000001&second=h000002").json()
    assert two["sentence"].startswith("<script>alert(1)</script>{first} will be liked better on")


def test_what_a_model_cannot_do_is_said(serve: Callable[..., TestClient], tmp_path: Path) -> None:
    model = ItemMean().fit(make_ratings(40, 20, 500, seed=1).ratings)
    client = serve(model.save(tmp_path / "means.dmrank"))
    assert "cannot say which aspects" in problem(
        client.get("/v1/explain?user=u000003&item=h000001"), 422
    )
    rating = {"user": "u000003", "item": "h000001", "overall": 3}
    assert "ItemMean" in problem(client.post("/v1/complete", json={"ratings": [rating]}), 422)
    about = client.get("/v1/model").json()
    assert about["can"] == {"compare_probability": False, "explain": False, "fold_in": True}
    assert about["preference"] is None
    scores = np.frombuffer(client.get("/v1/scores?user=u000003").content, dtype="<f4")
    assert (np.nan_to_num(scores.reshape(20, -1)[:, 0]) == 0).all()


def test_another_method_is_told_which_there_are(client: TestClient) -> None:
    answer = client.patch("/v1/ratings?user=u000003")
    problem(answer, 405)
    assert answer.headers["allow"] == "DELETE, GET, PUT"
