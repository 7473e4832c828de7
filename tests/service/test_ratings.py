"""Ratings that people give: kept, folded into the next list, exported for training."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from dmrank import EFM, Model, make_ratings, read_ratings
from dmrank.cli.app import app
from tests.service.conftest import problem

GIVEN = [{"item": "h000001", "overall": 5, "service": 4}, {"item": "h000007", "overall": 1}]


def _items(client: TestClient, user: str, **options: object) -> list[str]:
    answer = client.get("/v1/recommend", params={"user": user, "n": 40, **options})
    assert answer.status_code == 200, answer.text
    return [row["item"] for row in answer.json()["lists"][0]["rows"]]


def test_the_next_list_of_a_user_knows_them(client: TestClient, hurdle: Model) -> None:
    before = _items(client, "u000003")
    seen = hurdle.recommend("u000003", n=40)["item"].to_list()
    given = [{"item": seen[0], "overall": 1}, {"item": seen[1], "overall": 5}]
    assert client.put("/v1/ratings?user=u000003", json={"ratings": given}).json()["stored"] == 2
    folded = hurdle.fold_in([{"user": "u000003", **each} for each in given])
    assert _items(client, "u000003") == folded.recommend("u000003", n=40)["item"].to_list()
    assert (
        _items(client, "u000003", preference=0.8, by="service")
        == folded.recommend("u000003", n=40, preference=0.8, by="service")["item"].to_list()
    )
    assert (
        _items(client, "u000003", by="all")
        == folded.recommend("u000003", n=40, by="all")["item"].to_list()
    )
    assert client.delete("/v1/ratings?user=u000003").json()["deleted"] == 2
    assert _items(client, "u000003") == before


def test_a_new_user_gets_lists_as_soon_as_there_are_ratings(
    client: TestClient, hurdle: Model
) -> None:
    problem(client.get("/v1/recommend?user=ann"), 404)
    client.put("/v1/ratings?user=ann", json={"ratings": GIVEN})
    folded = hurdle.fold_in([{"user": "ann", **each} for each in GIVEN])
    assert _items(client, "ann") == folded.recommend("ann", n=40)["item"].to_list()
    answer = client.get("/v1/recommend?user=ann").json()["lists"][0]
    assert (answer["user"], answer["personal"]) == ("ann", True)
    assert client.get("/v1/compare?user=ann&first=h000002&second=h000003").json()["user"] == "ann"


def test_ratings_are_kept_changed_and_deleted_one_by_one(client: TestClient) -> None:
    client.put("/v1/ratings?user=ann", json={"ratings": GIVEN})
    client.put("/v1/ratings?user=ann", json={"ratings": [{"item": "h000001", "overall": 2}]})
    kept = client.get("/v1/ratings?user=ann").json()["ratings"]
    assert [(each["item"], each["ratings"]) for each in kept] == [
        ("h000001", {"overall": 2.0}),
        ("h000007", {"overall": 1.0}),
    ]
    assert kept[0]["time"].startswith("20")
    one = client.get("/v1/ratings?user=ann&item=h000007").json()["ratings"]
    assert [each["item"] for each in one] == ["h000007"]
    assert client.delete("/v1/ratings?user=ann&item=h000001").json()["deleted"] == 1
    assert client.delete("/v1/ratings?user=ann&item=h000001").json()["deleted"] == 0
    assert len(client.get("/v1/ratings?user=ann").json()["ratings"]) == 1
    assert client.get("/v1/ratings?user=bob").json()["ratings"] == []


def test_two_workers_see_the_same_ratings(
    serve: Callable[..., TestClient], hurdle_file: Path, tmp_path: Path
) -> None:
    store = str(tmp_path / "both.sqlite")
    first, second = (serve(hurdle_file, ratings=store) for _ in range(2))
    for value in (5, 1, 3):
        rating = {"ratings": [{"item": "h000001", "overall": value}]}
        first.put("/v1/ratings?user=ann", json=rating)
        assert _items(second, "ann") == _items(first, "ann")
    first.delete("/v1/ratings?user=ann")
    problem(second.get("/v1/recommend?user=ann"), 404)


def test_ratings_of_what_another_model_does_not_know_are_left_out(
    serve: Callable[..., TestClient], hurdle: Model, hurdle_file: Path, tmp_path: Path
) -> None:
    from dmrank.service.store.sqlite import SqliteStore

    store = SqliteStore(tmp_path / "old.sqlite")
    store.put("ann", {"gone": {"overall": 5.0}, "h000001": {"overall": 5.0, "view": 2.0}})
    store.put("bob", {"gone": {"overall": 5.0}})
    store.close()
    client = serve(hurdle_file, ratings=str(tmp_path / "old.sqlite"))
    folded = hurdle.fold_in([{"user": "ann", "item": "h000001", "overall": 5}])
    assert _items(client, "ann") == folded.recommend("ann", n=40)["item"].to_list()
    problem(client.get("/v1/recommend?user=bob"), 404)


def test_a_service_without_a_store_says_so(
    serve: Callable[..., TestClient], hurdle_file: Path
) -> None:
    client = serve(hurdle_file)
    assert "keeps no ratings" in problem(client.get("/v1/ratings?user=u000003"), 404)
    assert client.get("/v1/model").json()["stores_ratings"] is False


def test_a_store_that_is_no_store_stops_writes_and_not_lists(
    serve: Callable[..., TestClient], hurdle: Model, hurdle_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database, but long enough to be taken for one" * 100)
    client = serve(hurdle_file, ratings=str(broken))
    assert _items(client, "u000003") == hurdle.recommend("u000003", n=40)["item"].to_list()
    answer = client.put("/v1/ratings?user=ann", json={"ratings": GIVEN})
    assert "file is not a database" in problem(answer, 503)
    assert answer.headers["retry-after"] == "1"


def test_kept_ratings_are_exported_as_a_table_that_fit_reads(
    client: TestClient, tmp_path: Path
) -> None:
    client.put("/v1/ratings?user=ann", json={"ratings": GIVEN})
    client.put("/v1/ratings?user=u000003", json={"ratings": GIVEN[:1]})
    out = tmp_path / "new.parquet"
    store = tmp_path / "ratings.sqlite"
    ran = CliRunner().invoke(app, ["ratings", "export", str(store), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    table = pl.read_parquet(out)
    assert table.columns == ["user", "item", "overall", "service", "timestamp"]
    assert table.drop("timestamp").rows() == [
        ("ann", "h000001", 5.0, 4.0),
        ("ann", "h000007", 1.0, None),
        ("u000003", "h000001", 5.0, 4.0),
    ]
    assert read_ratings(out, aspects=["overall", "service"]).aspects == ("overall", "service")


@pytest.mark.parametrize("store", ["missing.sqlite", "mysql://localhost/x"])
def test_an_export_of_nothing_is_refused(store: str, tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["ratings", "export", store, "--out", str(tmp_path / "x.csv")])
    assert ran.exit_code != 0
    assert not (tmp_path / "x.csv").exists()


def test_a_model_that_folds_nobody_in_lists_as_if_nothing_was_rated(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    model = EFM(iterations=5).fit(make_ratings(60, 30, 900, seed=1).ratings)
    store = str(tmp_path / "ratings.sqlite")
    client = serve(model.save(tmp_path / "efm.dmrank"), ratings=store)
    client.put("/v1/ratings?user=u000003", json={"ratings": GIVEN[:1]})
    assert _items(client, "u000003") == model.recommend("u000003", n=40)["item"].to_list()
    answer = client.post("/v1/recommend/new", json={"ratings": GIVEN[:1]})
    assert "cannot fold in users" in problem(answer, 422)
