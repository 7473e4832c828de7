"""Disturb a Ray cluster at random moments, and see that no bit changes.

    python -m benchmarks.cluster_kills --times 50 --seed 0 --record      # needs the extra `ray`

A head without a CPU and three nodes of one CPU run on this machine. Extraction, lists for
everybody, folding in, an evaluation and the fit of a Hurdle are each disturbed at a random moment
of their run: a node is killed, or a process that runs tasks is, or the driver, which is then
started again; a node is stopped for ten seconds (SIGSTOP), or one joins. Results are compared with
those of one process.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import logging
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray
from ray.cluster_utils import Cluster

import dmrank
from benchmarks.cluster import make_reviews
from benchmarks.record import add_record_option, write_record
from dmrank.distributed.lists import write_folded_in_parts, write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile
from dmrank.text import load_polarity

_NODES = 3
_STORE = 100 << 20
#: Passes enough to be disturbed in.
_QUICK: dict[str, Any] = {"ials": {"iterations": 5}, "mixedeffects": {"iterations": 8}}
#: Tasks of a few rows: something is under way at every moment.
_SMALL = (
    ("dmrank.text.extract", "_TASK", 1 << 20),
    ("dmrank.evaluation.blocks", "_USERS_PER_BLOCK", 100),
)
WORKS = ("extraction", "lists", "folding in", "evaluation", "fit")


class Works:
    """What is disturbed. Each work returns a digest of its result.

    Parameters
    ----------
    folder : Path
        Where its files are. What a driver that was killed has left there is gone on with.
    """

    def __init__(self, folder: Path) -> None:
        for module, name, size in _SMALL:
            setattr(sys.modules[module], name, size)
        self.folder, self.model_file = folder, folder / "model.dmrank"
        self.split = dmrank.make_ratings(2_000, 200, 25_000, missing=0.1, seed=1).ratings.split()
        train = self.split.train
        self.users = train.users.names(np.flatnonzero(np.diff(train.user_pointer))).to_list()
        self.reviews, self.polarity_file = make_reviews(60_000), folder / "polarity"

    def prepare(self) -> None:
        """Make the model and the polarity of words that all of them use."""
        fitted = dmrank.Hurdle(seed=0, **_QUICK).fit(self.split.train, self.split.validation)
        fitted.save(self.model_file)
        dmrank.learn_polarity(self.reviews, overall="stars").save(self.polarity_file)

    def run(self, name: str, *, anew: bool = True) -> str:
        """Do one of them from its beginning, or go on with what is there."""
        if anew:
            self.clear()
        found: str = getattr(self, name.replace(" ", "_"))()
        return found

    def clear(self) -> None:
        """Remove what there is of results."""
        for place in ("lists", "folding-in", "checkpoint"):
            shutil.rmtree(self.folder / place, ignore_errors=True)

    @cached_property
    def _model(self) -> ModelFile:
        return ModelFile.at(self.model_file)

    def extraction(self) -> str:
        digest = hashlib.sha256()
        polarity = load_polarity(self.polarity_file)
        found = dmrank.extract_aspects(
            self.reviews, overall="stars", polarity=polarity, verbose=False
        )
        found.update_digest(digest)
        return digest.hexdigest()

    def lists(self) -> str:
        parts = PartSettings(self.folder / "lists", is_joined=False, users_per_part=100)
        write_list_parts(self._model, self.users, 10, {"by": "service"}, parts)
        return (parts.target / "manifest.json").read_text()

    def folding_in(self) -> str:
        parts = PartSettings(self.folder / "folding-in", is_joined=False, users_per_part=20)
        new = self.split.train.filter(users=self.users[:400])
        write_folded_in_parts(self._model, new, 10, {}, parts)
        return (parts.target / "manifest.json").read_text()

    def evaluation(self) -> str:
        digest = hashlib.sha256()
        report = dmrank.evaluate(dmrank.load(self.model_file), self.split)
        for values in report.values.values():
            digest.update(values.tobytes())
        return digest.hexdigest()

    def fit(self) -> str:
        fitted = dmrank.Hurdle(seed=1, **_QUICK).fit(
            self.split.train, self.split.validation, checkpoint=self.folder / "checkpoint"
        )
        saved = fitted.save(self.folder / "fitted.dmrank")
        return hashlib.sha256(saved.read_bytes()).hexdigest()


def kill_node(cluster: Any) -> None:
    cluster.remove_node(random.choice(sorted(cluster.worker_nodes, key=str)), allow_graceful=False)


def workers_of(node: Any) -> list[int]:
    """Return the processes of a node that run tasks: children of its raylet."""
    raylet, found = str(node.all_processes["raylet"][0].process.pid), []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            title = (stat.parent / "cmdline").read_text()
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if parent == raylet and title.startswith(("ray::_call", "ray::IDLE")):
                found.append(int(stat.parent.name))
    return found


def kill_worker(cluster: Any) -> None:
    """Kill a process that runs tasks, if there is one just then."""
    node = random.choice(sorted(cluster.worker_nodes, key=str))
    for process in workers_of(node)[:1]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def stop_node(cluster: Any) -> None:
    """Stop everything of a node for ten seconds, and let it go on."""
    node = random.choice(sorted(cluster.worker_nodes, key=str))
    stopped = [*workers_of(node), node.all_processes["raylet"][0].process.pid]
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        if number == signal.SIGSTOP:
            time.sleep(10)


def add_node(cluster: Any) -> None:
    cluster.add_node(num_cpus=1, object_store_memory=_STORE, wait=False)


def fill(cluster: Any) -> None:
    """Have as many nodes as at the beginning."""
    alive = (
        {node["NodeID"] for node in ray.nodes() if node["Alive"]} if ray.is_initialized() else set()
    )
    for node in list(cluster.worker_nodes):
        # One that was stopped for too long has ended itself; one that was added goes again.
        is_gone = bool(alive) and node.node_id not in alive
        if is_gone or len(cluster.worker_nodes) > _NODES:
            cluster.remove_node(node, allow_graceful=False)
    for _ in range(_NODES - len(cluster.worker_nodes)):
        add_node(cluster)
    cluster.wait_for_nodes()


def disturbed(work: Callable[[], str], act: Callable[[], None], delay: float) -> str:
    """Return the result of work during which something happens after so many seconds."""
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(copy_context().run, work)
        time.sleep(delay)
        act()
        return working.result()


class Driver(NamedTuple):
    """Another process that is the driver of a work, and may be killed.

    Attributes
    ----------
    folder : Path
        That of the works.
    address : str
        That of the cluster.
    """

    folder: Path
    address: str

    def started(self, name: str) -> subprocess.Popen[str]:
        """Return it when it begins with the work."""
        words = ["-m", "benchmarks.cluster_kills", "--drive", name, str(self.folder), self.address]
        process = subprocess.Popen(
            [sys.executable, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def killed(self, name: str, delay: float) -> str:
        """Return the result of a work whose driver is killed, and started again."""
        first = self.started(name)
        time.sleep(delay)
        first.kill()
        first.wait()
        return self.started(name).communicate()[0].strip()


def drive(name: str, folder: str, address: str) -> None:
    """Do a work on a cluster, going on with what is there, and print its digest."""
    works = Works(Path(folder))
    ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    with dmrank.cluster(folder=folder):
        print("begun", flush=True)
        print(works.run(name, anew=False).replace("\n", ""))


#: What happens, and how the record calls it.
ACTS: dict[str, Callable[[Any], None] | None] = {
    "node killed": kill_node,
    "worker killed": kill_worker,
    "driver killed": None,
    "node stopped for 10 s": stop_node,
    "node joins": add_node,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    add_record_option(parser)
    parser.add_argument("--drive", nargs=3, help="what this script calls itself with")
    given = parser.parse_args()
    if given.drive:
        drive(*given.drive)
        return
    random.seed(given.seed)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = Path(tempfile.mkdtemp(prefix="dmrank-kills-"))
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    found: Counter[tuple[str, str, bool]] = Counter()
    try:
        for name, act, is_same in disturbances(cluster, folder, given.times):
            found[name, act, is_same] += 1
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    rows = [{"work": name, **{act: told(found, name, act) for act in ACTS}} for name in WORKS]
    for row in rows:
        print(row)
    if given.record:
        command = f"python -m benchmarks.cluster_kills {shlex.join(sys.argv[1:])}"
        write_record("cluster-kills", command, rows, ("ray",))


def told(found: Counter[tuple[str, str, bool]], name: str, act: str) -> str:
    """Return how many results were the same."""
    same, other = (found[name, act, is_same] for is_same in (True, False))
    return f"{same} of {same + other}"


def disturbances(cluster: Any, folder: Path, times: int) -> Iterator[tuple[str, str, bool]]:
    """Disturb every work in every way in turns; yield which, and whether the result is the same."""
    works, driver = Works(folder), Driver(folder, cluster.address)
    works.prepare()
    expected = {name: works.run(name) for name in WORKS}
    fill(cluster)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.CRITICAL)
    with dmrank.cluster(folder=folder):
        seconds = {}
        for name in WORKS:
            works.run(name)
            started = time.perf_counter()
            assert works.run(name) == expected[name]
            seconds[name] = time.perf_counter() - started
        print({name: f"{each:.1f} s" for name, each in seconds.items()}, flush=True)
        every = list(itertools.product(WORKS, ACTS))
        planned: list[tuple[str, str]] = []
        while len(planned) < times:
            planned += random.sample(every, len(every))
        for number, (name, what) in enumerate(planned[:times], start=1):
            delay, act, began = random.uniform(0, seconds[name]), ACTS[what], time.perf_counter()
            if act is None:
                works.clear()
                is_same = driver.killed(name, delay) == expected[name].replace("\n", "")
            else:
                result = disturbed(partial(works.run, name), partial(act, cluster), delay)
                is_same = result == expected[name]
            fill(cluster)
            word, took = "the same" if is_same else "ANOTHER RESULT", time.perf_counter() - began
            print(
                f"{number}: {name} after {delay:.2f} s, {what}: {word} ({took:.0f} s)", flush=True
            )
            yield name, what, is_same


if __name__ == "__main__":
    main()
