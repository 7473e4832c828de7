"""Lists per second, latency and memory of `dmrank serve`, beside other services in one run.

    make bench-serving          # or python -m benchmarks.serving [--quick] [--record]

100,005 users × 17,257 items × 8 aspects, two workers, a DMR of 10 factors and a Hurdle; FastAPI on
uvicorn around implicit with the same factors, two workers as well, and Cornac's server, of one
process (twice: on two ports, and the rates are added). Models are
fitted once and kept in `.peers/serving-models`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dmrank
from benchmarks.record import add_record_option, write_record
from benchmarks.serving.load import (
    latency,
    process,
    proportional_memory,
    requests_per_second,
    wait_until_answered,
)
from dmrank import DMR, Hurdle, Model, make_ratings

MODELS = Path(".peers/serving-models")
PEERS = Path(".peers/serving/bin/python")
OURS, BARE = "dmrank serve", "dmrank serve, without parts"
LIST = "/v1/recommend?user={user}&n=10&by=service&by=value=2"
CORNAC = "/recommend?uid={user}&k=10&remove_seen=true"
UNSEEN = "/v1/recommend?user={user}&n=10&by=service={i}&by=value=2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short rounds, for a first look")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peers", action="store_true")
    add_record_option(parser)
    options = parser.parse_args()
    seconds = 2 if options.quick else 5
    MODELS.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, file in fitted().items():
        print(f"\n{name}, {file.stat().st_size / 1e6:.0f} MB")
        peers = name == "DMR" and not options.without_peers
        found[name] = measure(file, seconds, options.rounds, quick=options.quick, peers=peers)
    if options.record:
        command = "python -m benchmarks.serving --record"
        packages = ("granian", "starlette", "msgspec")
        write_record("serving-rates", command, rate_rows(found), packages)
        write_record("serving", command, other_rows(found), packages)


class Measured(NamedTuple):
    """What was found of a model: lists a second by what makes them, and the rest in words."""

    rates: dict[str, float]
    others: dict[str, str]


def rate_rows(found: dict[str, Measured]) -> list[dict[str, str]]:
    """Return lists a second as rows of a table."""
    rows = []
    for name in found["DMR"].rates:
        row = {"lists a second": name}
        for model, measured in found.items():
            rates = measured.rates
            rate, bare = rates.get(name), rates[BARE]
            row[model] = "" if rate is None else f"{rate:,.0f}"
            row[f"{model}: dmrank serve is"] = (
                "" if rate is None else f"{rates[OURS] / rate:.2f} times"
            )
            row[f"{model}: without parts"] = "" if rate is None else f"{bare / rate:.2f} times"
        rows.append(row)
    return rows


def other_rows(found: dict[str, Measured]) -> list[dict[str, str]]:
    """Return latency, memory and the like as rows of a table."""
    names = found["DMR"].others
    return [{"": name, **{m: each.others[name] for m, each in found.items()}} for name in names]


def fitted() -> dict[str, Path]:
    """Return the models, fitted if they are not there."""
    files = {"DMR": MODELS / "dmr.dmrank", "Hurdle": MODELS / "hurdle.dmrank"}
    if all(file.exists() for file in files.values()):
        return files
    split = make_ratings(100_005, 17_257, 1_057_217, seed=0).ratings.split(seed=0)
    kinds: dict[str, Model] = {
        "DMR": DMR(iterations=2_000, evaluate_every=1_000, seed=0),
        "Hurdle": Hurdle(seed=0),
    }
    for name, model in kinds.items():
        model.fit(split.train, validation=split.validation).save(files[name])
    return files


def measure(file: Path, seconds: int, rounds: int, *, quick: bool, peers: bool) -> Measured:
    """Print what a model's service does, and return it."""
    model = dmrank.load(file)
    rated = np.flatnonzero(np.diff(model.catalogue.seen_pointer) > 0)
    users: list[str] = model.users[np.random.default_rng(0).permutation(rated)[:20_000]].to_list()
    folder = Path(tempfile.mkdtemp(prefix="dmrank-bench-"))
    served = folder / "served.dmrank"
    shutil.copyfile(file, served)
    port = free_port()
    command = [sys.executable, "-m", "dmrank", "serve", str(served), "--port", str(port)]
    with process([*command, "--workers", "2"], folder / "log") as service:
        ready = wait_until_answered(f"http://127.0.0.1:{port}/health/ready", service)
        print(f"  ready after {ready:.1f} s")
        first = f"{LIST}".replace("{user}", users[0])
        url = f"http://127.0.0.1:{port}{first}"
        body = urllib.request.urlopen(url).read()
        requests_per_second(port, LIST, users, seconds=1)
        rates: dict[str, Callable[[], float]] = {
            OURS: lambda: requests_per_second(port, LIST, users, seconds=seconds),
            BARE: lambda: requests_per_second(
                port, f"{LIST}&aspects=false", users, seconds=seconds
            ),
            "dmrank serve, a mix never seen each": lambda: requests_per_second(
                port, UNSEEN, users, seconds=seconds
            ),
        }
        with others(folder, file, users, len(body), peers=peers) as added:
            rates |= {
                name: lambda ask=ask: ask(seconds)  # type: ignore[misc]
                for name, ask in added.items()
            }
            found = in_turns(rates, rounds)
        lists = found[OURS]
        for name, rate in found.items():
            print(f"  {name:48} {rate:9,.0f} a second   lists / this: {lists / rate:6.2f}")
        print(f"  {len(body):,} bytes each")
        others_found = show_latency(port, first, lists / 2, served, seconds)
        others_found |= show_newcomer(port, model)
        # So many as take half a minute or more, up to those that were promised.
        total = 20_000 if quick else min(200_000, int(60 * lists))
        others_found |= show_memory(service.pid, port, users, file, total)
        others_found["ready after a start, cache warm"] = f"{ready:.1f} s"
    shutil.rmtree(folder)
    return Measured(found, others_found)


def in_turns(rates: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median rate of each, measured in turns."""
    found: dict[str, list[float]] = {name: [] for name in rates}
    for _ in range(rounds):
        for name, ask in rates.items():
            found[name].append(ask())
    return {name: statistics.median(values) for name, values in found.items()}


class others:  # noqa: N801 (used like a function)
    """Start the services that ours is compared with, while a block runs."""

    def __init__(
        self, folder: Path, file: Path, users: list[str], length: int, *, peers: bool
    ) -> None:
        self._folder, self._file, self._users, self._length = folder, file, users, length
        self._peers, self._running = peers, []  # type: ignore[var-annotated]

    def __enter__(self) -> dict[str, Callable[[int], float]]:
        asks: dict[str, Callable[[int], float]] = {}
        port = free_port()
        constant = [
            sys.executable, "-m", "granian", "--interface", "asgi", "--factory", "--workers", "2",
            "--log-level", "error", "--port", str(port), "benchmarks.serving.constant:app",
        ]  # fmt: skip
        env = {**os.environ, "DMRANK_BENCH_LENGTH": str(self._length)}
        self._start(constant, f"http://127.0.0.1:{port}/", env=env)
        asks["a constant answer of equal length"] = lambda seconds: requests_per_second(
            port, "/v1/recommend?user={user}&n=10", self._users, seconds=seconds
        )
        if self._peers:
            asks |= self._of_peers()
        return asks

    def _of_peers(self) -> dict[str, Callable[[int], float]]:
        factors = save_factors(self._file, self._folder / "factors.npz")
        env = {**os.environ, "DMRANK_BENCH_FACTORS": str(factors)}
        user, served = self._users[0], {}
        for way in ("implicit_app", "implicit_app_as_usual"):
            served[way] = port = free_port()
            uvicorn = [
                str(PEERS), "-m", "uvicorn", "--factory", "--workers", "2", "--no-access-log",
                "--log-level", "error", "--port", str(port), f"benchmarks.serving.peers:{way}",
            ]  # fmt: skip
            self._start(uvicorn, f"http://127.0.0.1:{port}/recommend?user={user}", env=env)
        ports = [free_port() for _ in range(2)]
        saved = self._folder / "cornac"
        with process([str(PEERS), "-m", "benchmarks.serving.peers", str(saved)],
                     self._folder / "cornac.log", env=env) as fit:  # fmt: skip
            fit.wait()
        for own in ports:
            serve = {
                **os.environ, "MODEL_PATH": str(saved / "BPR"), "MODEL_CLASS": "cornac.models.BPR",
                "FLASK_APP": "cornac.serving.app:app",
            }  # fmt: skip
            flask = [str(PEERS), "-m", "flask", "run", "--port", str(own)]
            self._start(flask, f"http://127.0.0.1:{own}{CORNAC.format(user=user)}", env=serve)
        return {
            "FastAPI on uvicorn around implicit": lambda seconds: requests_per_second(
                served["implicit_app_as_usual"],
                "/recommend?user={user}&n=10",
                self._users,
                seconds=seconds,
            ),
            "the same in its event loop": lambda seconds: requests_per_second(
                served["implicit_app"], "/recommend?user={user}&n=10", self._users, seconds=seconds
            ),
            "Cornac's server": lambda seconds: requests_per_second(
                ports[0], CORNAC, self._users, seconds=seconds
            ),
            "two of Cornac's servers": lambda seconds: sum(
                both(
                    [
                        lambda own=own: requests_per_second(  # type: ignore[misc]
                            own, CORNAC, self._users, seconds=seconds,
                            connections=16,
                        )
                        for own in ports
                    ]
                )
            ),
        }  # fmt: skip

    def _start(self, command: list[str], url: str, **options: object) -> None:
        log = self._folder / f"{len(self._running)}.log"
        started = process(command, log, **options)
        self._running.append(started)
        wait_until_answered(url, started.__enter__())

    def __exit__(self, *_: object) -> None:
        for started in self._running:
            started.__exit__(None, None, None)


def both(asks: list[Callable[[], float]]) -> list[float]:
    """Ask at the same time."""
    found: list[float] = []
    threads = [threading.Thread(target=lambda ask=ask: found.append(ask())) for ask in asks]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def save_factors(file: Path, target: Path) -> Path:
    """Write the vectors of a model, for services that have no aspects: one mix."""
    model = dmrank.load(file)
    vectors = model.scoring_vectors(model.weights({"service": 1, "value": 2}))
    assert vectors is not None
    catalogue = model.catalogue
    np.savez(
        target,
        users=vectors.of_users(),
        items=vectors.items,
        pointer=catalogue.seen_pointer,
        seen=catalogue.seen_items,
        user_names=np.array(catalogue.users.series.to_list()),
        item_names=np.array(catalogue.items.series.to_list()),
    )
    return target


def show_latency(port: int, path: str, rate: float, served: Path, seconds: int) -> dict[str, str]:
    quiet = latency(port, path, rate, seconds=2 * seconds)
    print(
        f"  at {quiet.rate:,.0f} a second: median {quiet.median:.1f}, p99 {quiet.p99:.1f}, worst "
        f"{quiet.worst:.1f} ms, {quiet.failures} failures"
    )
    stop, reloads = threading.Event(), itertools.count()
    content = served.read_bytes()

    def reload() -> None:
        while not stop.wait(1.0):
            part = served.with_suffix(".part")
            part.write_bytes(content)
            part.replace(served)
            next(reloads)

    thread = threading.Thread(target=reload)
    thread.start()
    busy = latency(port, path, rate, seconds=2 * seconds)
    stop.set()
    thread.join()
    print(
        f"  the same during {next(reloads)} reloads: median {busy.median:.1f}, p99 {busy.p99:.1f}, "
        f"worst {busy.worst:.1f} ms, {busy.failures} failures"
    )
    return {
        "ms at half the highest rate: median, p99, worst": quiet.words(),
        "the same while another model is taken over every second": busy.words(),
        "failed requests meanwhile": str(quiet.failures + busy.failures),
    }


def show_newcomer(port: int, model: Model) -> dict[str, str]:
    """Compare a newcomer over HTTP with the two calls of the library."""
    import http.client
    import json

    items = model.items[np.flatnonzero(model.catalogue.rated_items)[:10]].to_list()
    ratings = [{"item": item, "overall": 1 + k % 5, "value": 3} for k, item in enumerate(items)]
    table = [{"user": "newcomer", **each} for each in ratings]
    body = json.dumps({"ratings": ratings}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def over_http() -> None:
        headers = {"content-type": "application/json"}
        connection.request("POST", "/v1/recommend/new", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200

    one_thread = model.with_state(model.catalogue, model.arrays, model.calibration)
    one_thread.config = model.config.model_copy(update={"threads": 1})

    def by_library() -> None:
        one_thread.fold_in(table).recommend("newcomer")

    times: dict[str, list[float]] = {"http": [], "library": []}
    for _ in range(60):
        for name, ask in (("http", over_http), ("library", by_library)):
            start = time.perf_counter()
            ask()
            times[name].append(1_000 * (time.perf_counter() - start))
    http_, library = (statistics.median(times[name][10:]) for name in ("http", "library"))
    print(
        f"  a newcomer with ten ratings: {http_:.1f} ms, fold_in and recommend {library:.1f} ms "
        f"({http_ - library:+.1f} ms)"
    )
    return {
        "a newcomer with ten ratings": f"{http_:.1f} ms",
        "`fold_in` and `recommend` of the same in Python": f"{library:.1f} ms",
    }


def show_memory(pid: int, port: int, users: list[str], file: Path, total: int) -> dict[str, str]:
    size = file.stat().st_size / 2**20
    before, asked = proportional_memory(pid), 0
    while asked < total:
        asked += int(5 * requests_per_second(port, UNSEEN, users, seconds=5))
    after = proportional_memory(pid)
    print(
        f"  both workers {before:.0f} MB, after {asked:,} more lists {after:.0f} MB "
        f"(the file has {size:.0f}: {after - size:+.0f})"
    )
    return {
        "the file": f"{size:.0f} MB",
        "memory of both workers (PSS)": f"{before:.0f} MB",
        "after many more lists": f"{after:.0f} MB ({asked:,})",
    }


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
