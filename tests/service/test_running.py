"""A service in processes of its own: reloads, signals, crashes and restarts, under load."""

import os
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import pytest

from dmrank import ItemMean, Model, make_ratings
from dmrank.service.copies import fingerprint
from tests.service.load import Load
from tests.service.running import Running, free_port, running

RELOADS = int(os.environ.get("DMRANK_RELOADS", "30"))
RATING = {"ratings": [{"item": "h000001", "overall": 5}]}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two small models that know the same users and items."""
    folder = tmp_path_factory.mktemp("two")
    ratings = make_ratings(60, 30, 900, seed=1).ratings
    return [
        ItemMean(shrinkage=shrinkage).fit(ratings).save(folder / f"{shrinkage}.dmrank")
        for shrinkage in (1, 5)
    ]


@pytest.fixture
def file(models: list[Path], tmp_path: Path) -> Path:
    target = tmp_path / "served.dmrank"
    target.write_bytes(models[0].read_bytes())
    return target


def replace(file: Path, content: bytes) -> None:
    """Rename another file over the one that is served."""
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.replace(file)


def version(file: Path) -> str:
    return fingerprint(file)[:12]


def test_a_file_renamed_over_the_old_one_is_taken_over_without_a_failed_request(
    file: Path, models: list[Path]
) -> None:
    contents = cycle([models[1].read_bytes(), models[0].read_bytes()])
    with running(file, workers=2) as service, Load(service.address) as load:
        for _ in range(RELOADS):
            replace(file, next(contents))
            new = version(file)
            before = load.models[new]
            service.wait_for(
                "another model answers", lambda new=new, before=before: load.models[new] > before
            )
        # Both workers have it.
        service.wait_for(
            "all answers come from one model",
            lambda: {service.version() for _ in range(20)} == {version(file)},
        )
    assert load.failures == []
    assert set(load.models) == {version(model) for model in models}
    assert load.count > RELOADS


def test_sighup_opens_the_file_again(file: Path) -> None:
    with running(file) as service:
        assert "another model is served" not in service.log()
        service.process.send_signal(signal.SIGHUP)  # the file is as it was
        service.wait_for("it is opened again", lambda: "another model is served" in service.log())
        assert service.version() == version(file)


def test_a_bad_file_changes_nothing_and_is_reported(
    file: Path, models: list[Path], tmp_path: Path
) -> None:
    good = models[0].read_bytes()
    bad = [b"", b"garbage" * 1_000, good[: len(good) // 2], good[:-100] + b"\1" * 100, b"\xff" * 99]
    with running(file, workers=2) as service, Load(service.address) as load:
        for number, content in enumerate(bad, start=1):
            replace(file, content)
            service.wait_for(
                "a bad file is reported",
                lambda number=number: service.log().count("the old one goes on") >= 2 * number,
            )
            assert service.version() == version(models[0])
        text = service.get("/metrics").text
        failed = next(
            line for line in text.splitlines() if 'reloads_total{result="failed"}' in line
        )
        assert float(failed.split()[-1]) == 2 * len(bad)
        replace(file, models[1].read_bytes())
        service.wait_for(
            "a good file is served again", lambda: service.version() == version(models[1])
        )
        # A worker that is started now must not look at the bad ones.
        os.kill(service.workers()[0], signal.SIGKILL)
        service.wait_for("there are two workers", lambda: len(service.workers()) == 2)
        service.wait_for(
            "both answer", lambda: {service.version() for _ in range(9)} == {version(models[1])}
        )
    assert set(load.models) <= {version(model) for model in models}


def test_the_original_may_be_cut_short_in_place(file: Path) -> None:
    with running(file) as service:
        before = service.get("/v1/recommend", user="u000003").json()
        with file.open("r+b") as stream:
            stream.truncate(100)
        service.wait_for("that is reported", lambda: "the old one goes on" in service.log())
        assert service.get("/v1/recommend", user="u000003").json() == before
        file.unlink()
        time.sleep(0.3)
        assert service.get("/v1/recommend", user="u000003").json() == before


def _served(service: Running) -> int:
    """Return how many workers have begun to serve so far."""
    return service.log().count('"a model is served"')


def test_a_worker_that_is_killed_is_replaced(file: Path) -> None:
    with running(file, workers=2) as service:
        service.wait_for("both workers serve", lambda: _served(service) == 2)
        victim = service.workers()[0]
        os.kill(victim, signal.SIGKILL)
        service.wait_for("another takes its place", lambda: _served(service) == 3)
        assert len(service.workers()) == 2
        assert victim not in service.workers()
        with Load(service.address) as load:
            service.wait_for("lists go on", lambda: load.count > 50)
        assert load.failures == []
        assert "dmrank_request_seconds_count" in service.get("/metrics").text
        assert service.stop() == 0


def test_workers_do_not_outlive_the_process_that_started_them(file: Path) -> None:
    with running(file, workers=2) as service:
        workers = service.workers()
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        service.wait_for(
            "they end", lambda: not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
        )


def test_what_a_killed_service_has_left_goes_with_the_next(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    with running(file) as service:
        service.stop(signal.SIGKILL)
    left = list(place.glob("dmrank-serve-*"))
    assert len(left) == 1
    with running(file) as first, running(file) as second:
        now = list(place.glob("dmrank-serve-*"))
        assert len(now) == 2
        assert left[0] not in now
        assert first.stop() == second.stop() == 0
    assert list(place.glob("dmrank-serve-*")) == []


def test_sigterm_finishes_what_runs(file: Path) -> None:
    with running(file) as service:
        with Load(service.address) as load:
            service.wait_for("lists are asked for", lambda: load.count > 20)
            workers = service.workers()
            assert service.stop() == 0
        # One request may have met a service that had ended; none was broken off.
        assert set(load.statuses) == {200}
        assert all("ReadError" not in failure for failure in load.failures)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


def test_a_rolling_restart_loses_no_request(file: Path) -> None:
    port = free_port()
    with (
        running(file, "--reuse-port", port=port) as old,
        running(file, "--reuse-port", port=port) as new,
        Load(old.address, retries=3) as load,
    ):
        # Ready is whichever of them answers: the new one says it in its log.
        new.wait_for("the new one is ready", lambda: "is served" in new.log())
        assert old.stop() == 0
        before = load.count
        new.wait_for("lists go on", lambda: load.count > before + 20)
    assert load.failures == []


def test_a_rating_that_was_answered_survives_kill_9(file: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "kept.sqlite")
    for user in ("ann", "bob"):
        with running(file, "--ratings", store) as service:
            answer = service.client.put(f"/v1/ratings?user={user}", json=RATING)
            assert answer.status_code == 200
            workers = service.workers()
            for pid in (service.process.pid, *workers):
                os.kill(pid, signal.SIGKILL)
            service.process.wait()
    with running(file, "--ratings", store) as service:
        for user in ("ann", "bob"):
            kept = service.get("/v1/ratings", user=user).json()["ratings"]
            assert [each["item"] for each in kept] == ["h000001"]
            assert service.get("/v1/recommend", user=user).status_code == 200


def _limit_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


def test_on_a_full_disk_lists_go_on_and_writes_are_refused(file: Path, tmp_path: Path) -> None:
    """No file may grow beyond some size: what a full disk does to a database."""
    store = tmp_path / "small.sqlite"
    port = free_port()
    command = [sys.executable, "-m", "dmrank", "serve", str(file), "--port", str(port)]
    log = (tmp_path / "full.log").open("wb")
    process = subprocess.Popen(
        [*command, "--workers", "1", "--ratings", str(store)],
        stdout=log,
        stderr=log,
        preexec_fn=_limit_files,  # noqa: PLW1509 (nothing else runs here)
    )
    from tests.service.running import Running

    service = Running(process, port, tmp_path / "full.log")
    try:
        service.wait_for("it is ready", lambda: service.get("/health/ready").status_code == 200)
        items = [f"h{n:06}" for n in range(30)]
        statuses = []
        for number in range(400):
            ratings = {"ratings": [{"item": item, "overall": 5, "value": 3} for item in items]}
            answer = service.client.put(f"/v1/ratings?user=person-{number}", json=ratings)
            statuses.append(answer.status_code)
            if answer.status_code != 200:
                break
        assert statuses[0] == 200
        assert statuses[-1] == 503
        assert "retry-after" in answer.headers
        kept = len(statuses) - 1
        assert len(service.get("/v1/ratings", user=f"person-{kept - 1}").json()["ratings"]) == 30
        assert service.get("/v1/ratings", user=f"person-{kept}").json()["ratings"] == []
        assert service.get("/v1/recommend", user="u000003").status_code == 200
    finally:
        service.client.close()
        process.terminate()
        process.wait()
        log.close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["missing.dmrank"], "missing.dmrank does not exist"),
        ([], "give a model file, or --demo"),
        (["FILE", "--demo"], "give a model file, or --demo"),
        (["FILE", "--host", "0.0.0.0"], "--host 0.0.0.0 can be reached from other machines"),
        (["FILE", "--keys", "missing.toml"], "missing.toml cannot be read"),
        (["FILE", "--ratings", "mysql://x/y"], "is no store"),
        (["GARBAGE"], "garbage.dmrank"),
        (["FILE", "--port", "PORT"], "cannot be listened at"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], says: str, file: Path, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.dmrank"
    garbage.write_bytes(b"garbage" * 100)
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        names = {
            "FILE": str(file),
            "GARBAGE": str(garbage),
            "PORT": str(taken.getsockname()[1]),
        }
        given = [names.get(option, option) for option in options]
        if "PORT" not in options:
            given += ["--port", str(free_port())]
        ran = subprocess.run(
            [sys.executable, "-m", "dmrank", "serve", *given],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            timeout=60,
        )
    assert ran.returncode == 2, ran.stderr
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr
    last = ran.stderr.strip().splitlines()[-1]
    assert says in last


def test_the_demo_is_fitted_and_served(tmp_path: Path) -> None:
    port = free_port()
    log = (tmp_path / "demo.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "dmrank", "serve", "--demo", "--port", str(port), "--workers", "1"],
        stdout=log,
        stderr=log,
        cwd=tmp_path,
    )
    from tests.service.running import Running

    service = Running(process, port, tmp_path / "demo.log")
    try:
        service.wait_for("it is ready", lambda: service.get("/health/ready").status_code == 200)
        assert service.get("/v1/model").json()["kind"] == "Hurdle"
        assert service.stop() == 0
    finally:
        service.client.close()
        if process.poll() is None:
            process.terminate()
            process.wait()
        log.close()


def test_a_loaded_model_is_on_one_thread_in_every_part(hurdle: Model, hurdle_file: Path) -> None:
    from dmrank.service.served import Served

    served = Served.open(hurdle_file)
    assert served.model.config.threads == 1
    assert {member.config.threads for member in served.model.members.values()} == {1}


def test_the_file_of_a_model_that_is_served_no_more_is_let_go(
    file: Path, models: list[Path]
) -> None:
    with running(file) as service:
        (worker,) = service.workers()
        replace(file, models[1].read_bytes())
        service.wait_for("another is served", lambda: service.version() == version(file))

        def opened() -> set[str]:
            maps = Path(f"/proc/{worker}/maps").read_text()
            return {line.split("/")[-1] for line in maps.splitlines() if ".dmrank" in line}

        service.wait_for("the old one is let go", lambda: opened() == {"2.dmrank"})
