"""Disturb a Ray cluster at random moments, and see that no bit changes.

    python -m benchmarks.cluster_kills --times 50 --seed 0      # needs the extra `ray`

A head without a CPU and three nodes of one CPU run on this machine. Extraction, lists for
everybody, folding in, an evaluation and the fit of a Hurdle are each disturbed at a random moment
of their run: a node is killed, or a process that runs tasks is, a node is stopped for ten seconds
(SIGSTOP), or one joins. Results are compared with those of one process.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.cluster_utils import Cluster

import dmrank
from benchmarks.cluster import make_reviews
from dmrank.distributed.lists import write_folded_in_parts, write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile

_NODES = 3
_STORE = 100 << 20


def works(folder: Path) -> dict[str, Callable[[], str]]:
    """Return what is disturbed, by name; each returns a digest of its result."""
    split = dmrank.make_ratings(3_000, 300, 40_000, missing=0.1, seed=1).ratings.split()
    model = dmrank.Hurdle(seed=0).fit(split.train, validation=split.validation)
    file = ModelFile.at(model.save(folder / "model.dmrank"))
    users = split.train.users.names(np.flatnonzero(np.diff(split.train.user_pointer))).to_list()

    def lists() -> str:
        target = folder / "lists"
        shutil.rmtree(target, ignore_errors=True)
        write_list_parts(file, users, 10, {"by": "service"}, PartSettings(target, False, 100))
        return (target / "manifest.json").read_text()

    def fit() -> str:
        fitted = dmrank.Hurdle(seed=1).fit(split.train, split.validation)
        return hashlib.sha256(fitted.save(folder / "fitted.dmrank").read_bytes()).hexdigest()

    new, reviews = split.train.filter(users=users[:400]), make_reviews(20_000)
    polarity = dmrank.learn_polarity(reviews, overall="stars")

    def folding_in() -> str:
        target = folder / "folded"
        shutil.rmtree(target, ignore_errors=True)
        write_folded_in_parts(file, new, 10, {}, PartSettings(target, False, 20))
        return (target / "manifest.json").read_text()

    def extraction() -> str:
        digest = hashlib.sha256()
        found = dmrank.extract_aspects(reviews, overall="stars", polarity=polarity, verbose=False)
        found.update_digest(digest)
        return digest.hexdigest()

    def evaluation() -> str:
        digest = hashlib.sha256()
        for values in dmrank.evaluate(model, split).values.values():
            digest.update(values.tobytes())
        return digest.hexdigest()

    return {
        "extraction": extraction,
        "lists": lists,
        "folding in": folding_in,
        "evaluation": evaluation,
        "fit": fit,
    }


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


ACTS = (kill_node, kill_worker, stop_node, add_node)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random.seed(given.seed)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = Path(tempfile.mkdtemp(prefix="dmrank-kills-"))
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    found: Counter[str] = Counter()
    try:
        chosen = works(folder)
        expected = {name: work() for name, work in chosen.items()}
        fill(cluster)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.CRITICAL)
        with dmrank.cluster():
            seconds = {}
            for name, work in chosen.items():
                work()
                started = time.perf_counter()
                assert work() == expected[name]
                seconds[name] = time.perf_counter() - started
            for _ in range(given.times):
                name, act = random.choice(sorted(chosen)), random.choice(ACTS)
                delay = random.uniform(0, seconds[name])
                result = disturbed(chosen[name], lambda act=act: act(cluster), delay)
                same = "the same" if result == expected[name] else "ANOTHER RESULT"
                found[f"{name}, {act.__name__}: {same}"] += 1
                print(f"{name} after {delay:.2f} s, {act.__name__}: {same}", flush=True)
                fill(cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    for line, count in sorted(found.items()):
        print(f"{count:>4}  {line}")


if __name__ == "__main__":
    main()
