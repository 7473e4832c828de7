"""Questions about items over HTTP: as the calls of the library."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

from dmrank import ItemMean, Model, make_ratings, read_ratings
from tests.service.conftest import problem

NEWCOMER = [
    {"item": "h000001", "overall": 5, "service": 4},
    {"item": "h000007", "overall": 1},
]


@pytest.fixture
def folded(hurdle: Model) -> Model:
    return hurdle.fold_in([{"user": "new", **each} for each in NEWCOMER])


def test_two_items_are_compared(client: TestClient, hurdle: Model) -> None:
    found = client.get("/v1/compare?user=u000003&first=h000001&second=h000002").json()
    wanted = hurdle.compare("u000003", "h000001", "h000002")
    assert found["aspects"] == wanted.table.to_dicts()
    assert found["confidence"] == wanted.confidence
    assert found["sentence"] == wanted.sentence
    assert found["names"] == list(wanted.names)
    direction = np.array(list(found["direction"].values()))
    difference = wanted.table["difference"].to_numpy()
    np.testing.assert_allclose(direction, difference / np.linalg.norm(difference), atol=1e-6)


def test_an_item_is_explained(client: TestClient, hurdle: Model) -> None:
    found = client.get("/v1/explain?user=u000003&item=h000001&by=service&by=value=2").json()
    wanted = hurdle.explain("u000003", "h000001", {"service": 1, "value": 2})
    assert found["aspects"] == wanted.table.to_dicts()
    assert found["sentence"] == wanted.sentence
    assert found["by"] == wanted.by
    assert found["name"] in found["sentence"]


def test_newcomers_can_ask_the_same(client: TestClient, folded: Model) -> None:
    two = {"first": "h000003", "second": "h000002", "ratings": NEWCOMER}
    compared = client.post("/v1/compare", json=two).json()
    assert compared["aspects"] == folded.compare("new", "h000003", "h000002").table.to_dicts()
    assert compared["user"] is None
    asked = {"item": "h000003", "ratings": NEWCOMER, "by": "rooms"}
    explained = client.post("/v1/explain", json=asked).json()
    assert explained["sentence"] == folded.explain("new", "h000003", "rooms").sentence
    scores = client.post("/v1/scores", json={"ratings": NEWCOMER}).content
    assert len(scores) == 4 * len(folded.items) * (1 + len(folded.aspects))


def test_missing_aspects_are_completed(client: TestClient, hurdle: Model) -> None:
    given = [
        {"user": "u000003", "item": "h000001", "overall": 4},
        {"user": "u000004", "item": "h000002", "service": 2, "value": None},
    ]
    found = client.post("/v1/complete", json={"ratings": given}).json()["rows"]
    wanted = hurdle.complete(given).to_dicts()
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours["user"] == theirs["user"]
        for aspect in hurdle.aspects:
            assert ours["ratings"][aspect] == pytest.approx(theirs[aspect])
            assert ours["deviations"][aspect] == pytest.approx(theirs[f"{aspect}_sd"])
    unknown = [{"user": "nobody", "item": "h000001", "overall": 4}]
    assert "'nobody'" in problem(client.post("/v1/complete", json={"ratings": unknown}), 404)
    nobody = [{"item": "h000001", "overall": 4}]
    assert "no user" in problem(client.post("/v1/complete", json={"ratings": nobody}), 422)


def test_what_is_alike_is_found(client: TestClient, hurdle: Model) -> None:
    items = client.get("/v1/similar?item=h000001&n=3&by=service").json()["rows"]
    wanted = hurdle.similar_items("h000001", 3, by="service")
    assert [row["id"] for row in items] == wanted["item"].to_list()
    assert [row["name"] for row in items] == wanted["item_name"].to_list()
    users = client.get("/v1/similar?user=u000003&n=3").json()["rows"]
    assert [row["id"] for row in users] == hurdle.similar_users("u000003", 3)["user"].to_list()


def test_the_nearest_mix_gives_the_order(client: TestClient, hurdle: Model) -> None:
    listed = hurdle.recommend("u000003", n=12, by="service", preference=1.0)["item"].to_list()
    moved = 0
    for late in listed[1:]:
        asked = {
            "user": "u000003",
            "orders": [[late, listed[0]]],
            "by": "service",
            "preference": 1.0,
        }
        found = client.post("/v1/weights", json=asked).json()
        if found["weights"] is None:
            assert found["prevented_by"] == [[late, listed[0]]]
            continue
        moved += 1
        again = client.post(
            "/v1/recommend",
            json={"users": ["u000003"], "by": found["weights"], "n": 40, "preference": 1.0},
        ).json()["lists"][0]["rows"]
        order = [row["item"] for row in again]
        assert order.index(late) < order.index(listed[0])
    assert moved > 0


def test_questions_for_newcomers(client: TestClient, hurdle: Model) -> None:
    found = client.get("/v1/questions?n=4").json()["questions"]
    assert [each["item"] for each in found] == hurdle.questions(4)["item"].to_list()
    assert all(each["name"] and each["ratings"] > 0 for each in found)


def test_users_are_found_by_how_their_ids_begin(client: TestClient) -> None:
    assert client.get("/v1/users?prefix=u00001&n=3").json()["users"] == [
        "u000010",
        "u000011",
        "u000012",
    ]
    assert client.get("/v1/users?prefix=%25").json()["users"] == []
    assert len(client.get("/v1/users").json()["users"]) == 20


def test_the_model_says_what_it_is(client: TestClient, hurdle: Model, hurdle_file: Path) -> None:
    about = client.get("/v1/model").json()
    assert about["kind"] == "Hurdle"
    assert about["aspects"] == list(hurdle.aspects)
    assert about["preference"] == hurdle.preference
    assert about["scale"]["overall"] == [1, 5]
    assert about["parameters"] == hurdle.config.model_dump(mode="json") | {"threads": 1}
    counts = about["users"], about["items"], about["ratings"]
    assert counts == (len(hurdle.users), len(hurdle.items), len(hurdle.catalogue.seen_items))
    assert datetime.fromisoformat(about["saved"]).timestamp() == int(hurdle_file.stat().st_mtime)
    assert 0 <= (datetime.now(UTC) - datetime.fromisoformat(about["loaded"])).total_seconds() < 600
    assert (about["first_rating"], about["last_rating"]) == (None, None)  # they had no times
    assert about["model"] == about["fingerprint"][:12]
    assert about["stores_ratings"] is True
    assert about["can"] == {"compare_probability": True, "explain": True, "fold_in": True}
    assert client.get("/v1/items").json()["names"] == list(hurdle.catalogue.item_names)


def test_the_model_says_of_which_time_its_ratings_are(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    table = make_ratings(60, 30, 900, seed=4).ratings.to_polars()
    days = pl.Series(range(len(table))) % 30
    table = table.with_columns(timestamp=pl.datetime(2012, 6, 1) + pl.duration(days=days))
    model = ItemMean().fit(read_ratings(table))
    about = serve(model.save(tmp_path / "timed.dmrank")).get("/v1/model").json()
    assert about["first_rating"].startswith("2012-06-01")
    assert about["last_rating"].startswith("2012-06-30")


def test_every_answer_names_the_model(client: TestClient) -> None:
    version = client.get("/v1/model").json()["model"]
    for path in (
        "/v1/recommend?user=u000003",
        "/v1/compare?user=u000003&first=h000001&second=h000002",
        "/v1/explain?user=u000003&item=h000001",
        "/v1/similar?item=h000001",
        "/v1/questions",
        "/v1/users",
        "/v1/items",
        "/health/ready",
    ):
        assert client.get(path).json()["model"] == version
    assert version in client.get("/v1/scores?user=u000003").headers["dmrank-recipe"]


def test_two_models_that_differ_have_two_versions(
    client: TestClient, serve: Callable[..., TestClient], hurdle: Model, tmp_path: Path
) -> None:
    other = hurdle.fold_in([{"user": "new", **each} for each in NEWCOMER])
    again = serve(other.save(tmp_path / "grown.dmrank"))
    assert again.get("/v1/model").json()["model"] != client.get("/v1/model").json()["model"]
