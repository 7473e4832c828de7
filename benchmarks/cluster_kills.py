"""Kill nodes and workers of a Ray cluster at random moments, and see that no bit changes.

    python benchmarks/cluster_kills.py --times 50 --seed 0      # needs the extra `ray`

A head without a CPU and three nodes of one CPU run on this machine. Lists for everybody, a fit of
IALS and an evaluation are each disturbed at a random moment of their run: a node is killed (another
one joins later), or a process that runs tasks is. Results are compared with those of one process.
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
from dmrank.distributed.lists import write_list_parts
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
        fitted = dmrank.IALS(seed=1, factors=32, patience=20).fit(split.train, split.validation)
        return hashlib.sha256(fitted.save(folder / "ials.dmrank").read_bytes()).hexdigest()

    def evaluation() -> str:
        digest = hashlib.sha256()
        for values in dmrank.evaluate(model, split).values.values():
            digest.update(values.tobytes())
        return digest.hexdigest()

    return {"lists": lists, "fit": fit, "evaluation": evaluation}


def kill_node(cluster: Any) -> None:
    cluster.remove_node(random.choice(sorted(cluster.worker_nodes, key=str)), allow_graceful=False)


def kill_worker(cluster: Any) -> None:
    """Kill a process that runs tasks, if there is one just then."""
    node = random.choice(sorted(cluster.worker_nodes, key=str))
    raylet = str(node.all_processes["raylet"][0].process.pid)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            title = (stat.parent / "cmdline").read_text()
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if parent == raylet and title.startswith("ray::_call"):
                os.kill(int(stat.parent.name), signal.SIGKILL)
                return


def fill(cluster: Any) -> None:
    """Add nodes until there are as many as at the beginning."""
    for _ in range(_NODES - len(cluster.worker_nodes)):
        cluster.add_node(num_cpus=1, object_store_memory=_STORE, wait=False)
    cluster.wait_for_nodes()


def disturbed(work: Callable[[], str], act: Callable[[], None], delay: float) -> str:
    """Return the result of work during which something happens after so many seconds."""
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(copy_context().run, work)
        time.sleep(delay)
        act()
        return working.result()


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
                name, act = random.choice(sorted(chosen)), random.choice((kill_node, kill_worker))
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
