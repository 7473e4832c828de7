"""Stores of ratings: SQLite, and a PostgreSQL that these tests start."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dmrank import ItemMean, make_ratings
from dmrank.cli.app import app
from dmrank.service.store.base import Store, StoreError
from dmrank.service.store.opening import open_store
from dmrank.service.store.postgres import PostgresStore
from dmrank.service.store.sqlite import SqliteStore
from tests.service.database import Database, database
from tests.service.load import Load
from tests.service.running import running

RATING = {"ratings": [{"item": "h000001", "overall": 5}]}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Database]:
    with database() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        opened: Store = SqliteStore(tmp_path / "ratings.sqlite")
    else:
        opened = PostgresStore(request.getfixturevalue("postgres").url)
        for each in list(opened.every()):
            opened.delete(each.user, None)
    yield opened
    opened.close()


def test_ratings_come_back_as_they_were_given(store: Store) -> None:
    odd = {"a/b": {"overall": 5.0}, "🏨": {"über uns": 1.5, "x": 0.1 + 0.2}, "'; --": {"x": 1e-9}}
    store.put("ann", odd)
    assert {each.item: each.ratings for each in store.of_user("ann")} == odd
    assert [each.item for each in store.of_user("ann")] == sorted(odd)
    assert store.of_user("bob") == []


def test_another_rating_of_an_item_takes_the_place_of_the_old_one(store: Store) -> None:
    store.put("ann", {"x": {"overall": 5.0}, "y": {"overall": 1.0}})
    before = store.of_user("ann")[0].time
    store.put("ann", {"x": {"value": 2.0}})
    kept = store.of_user("ann")
    assert [each.ratings for each in kept] == [{"value": 2.0}, {"overall": 1.0}]
    assert kept[0].time >= before


def test_every_change_is_a_new_revision(store: Store) -> None:
    assert store.revisions(["carl", "dora"]) == {}
    seen = []
    for change in (
        lambda: store.put("carl", {"x": {"overall": 5.0}}),
        lambda: store.put("carl", {"x": {"overall": 5.0}}),
        lambda: store.delete("carl", "x"),
        lambda: store.put("carl", {"y": {"overall": 5.0}}),
        lambda: store.delete("carl", None),
    ):
        change()
        seen.append(store.revisions(["carl", "dora"])["carl"])
    assert seen == sorted(set(seen))
    assert store.delete("carl", None) == 0
    assert store.revisions(["carl"]) == {"carl": seen[-1]}


def test_everything_is_handed_out_in_order(store: Store) -> None:
    for user in ("b", "a", "ä", "B"):
        store.put(user, {"y": {"overall": 1.0}, "x": {"overall": 2.0}})
    found = [(each.user, each.item) for each in store.every()]
    assert found == [(user, item) for user in ("B", "a", "b", "ä") for item in ("x", "y")]


def test_many_writers_lose_nothing(store: Store, request: pytest.FixtureRequest) -> None:
    address = store._path if isinstance(store, SqliteStore) else store._url
    store.put("busy", {"first": {"overall": 1.0}})

    def write(number: int) -> None:
        own = open_store(str(address))
        for item in range(10):
            own.put("busy", {f"{number}-{item}": {"overall": 1.0}})
        own.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.of_user("busy")) == 41
    assert store.revisions(["busy"])["busy"] >= 41


@given(st.text(max_size=20), st.text(min_size=1, max_size=20), st.floats(-1e6, 1e6))
def test_any_text_is_an_id_in_sqlite(user: str, item: str, value: float) -> None:
    import tempfile

    if any("\ud800" <= letter <= "\udfff" for letter in user + item):
        return
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "x.sqlite")
        store.put(user, {item: {"overall": value}})
        (kept,) = store.of_user(user)
        assert (kept.user, kept.item, kept.ratings) == (user, item, {"overall": value})
        store.close()


def test_a_file_is_made_by_the_first_rating_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratings.sqlite")
    assert store.revisions(["ann"]) == {}
    assert store.of_user("ann") == []
    assert store.delete("ann", None) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"ratings\.sqlite cannot be used"):
        SqliteStore(tmp_path / "missing" / "ratings.sqlite").put("ann", {"x": {"overall": 1.0}})


def test_the_password_of_a_database_is_in_no_message() -> None:
    store = PostgresStore("postgresql://ann:secret@127.0.0.1:1/hotels")
    with pytest.raises(StoreError) as error:
        store.revisions(["ann"])
    assert "secret" not in str(error.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    ratings = make_ratings(60, 30, 900, seed=1).ratings
    return ItemMean().fit(ratings).save(tmp_path / "hotels.dmrank")


def test_without_its_database_lists_go_on_and_writes_are_refused(
    file: Path, tmp_path: Path
) -> None:
    with database() as server, running(file, "--ratings", server.url, workers=2) as service:
        asked = service.client
        assert asked.put("/v1/ratings?user=ann", json=RATING).status_code == 200
        for _ in range(8):  # in any worker
            assert service.get("/v1/recommend", user="ann").status_code == 200
        server.stop("immediate")
        with Load(service.address) as load:
            refused = asked.put("/v1/ratings?user=ann", json=RATING)
            assert refused.status_code == 503
            assert "ratings cannot be reached" in refused.json()["detail"]
            assert "retry-after" in refused.headers
            service.wait_for("lists go on", lambda: load.count > 30)
        assert load.failures == []
        assert "dmrank_store_failures_total" in service.get("/metrics").text
        server.start()
        service.wait_for(
            "ratings are written again",
            lambda: asked.put("/v1/ratings?user=bob", json=RATING).status_code == 200,
        )
        assert len(service.get("/v1/ratings", user="ann").json()["ratings"]) == 1
        out = tmp_path / "new.csv"
        ran = CliRunner().invoke(app, ["ratings", "export", server.url, "--out", str(out)])
        assert ran.exit_code == 0, ran.output
        assert len(out.read_text().splitlines()) == 3


def test_a_rating_that_was_answered_survives_kill_9_of_everything(file: Path) -> None:
    with database() as server:
        with running(file, "--ratings", server.url) as service:
            answer = service.client.put("/v1/ratings?user=ann", json=RATING)
            assert answer.status_code == 200
            for pid in (service.process.pid, *service.workers()):
                os.kill(pid, signal.SIGKILL)
            service.process.wait()
        server.stop("immediate")  # as a kill: nothing is written on the way
        server.start()
        with running(file, "--ratings", server.url) as service:
            assert len(service.get("/v1/ratings", user="ann").json()["ratings"]) == 1


def test_without_psycopg_the_extra_is_named(file: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from dmrank.cli import main; sys.argv = ['dmrank', *sys.argv[1:]]; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "serve", str(file), "--ratings", "postgresql://x/y"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "dmrank[postgres]" in ran.stderr
