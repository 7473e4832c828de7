"""A tenth of HotelRec, made up, on three nodes none of which may hold its user side.

    python -m benchmarks.cluster_large --record     # needs the extra `ray` and Linux; half an hour
    python -m benchmarks.cluster_large --scale 0.1        # a tenth of the tenth, for a first look

HotelRec has 50 million reviews by 21.9 million users of 365,000 hotels. Nodes are processes of this
machine: their part of Ray, a worker, an object store. What all processes of a node have in memory
beside files is looked at twenty times a second, and the script ends with an error if it was more
than a node may have. Files that are mapped are not counted, for the system can let go of their
pages; the object store is. (RLIMIT_DATA would be no measure: Polars reserves a gigabyte of
addresses that it does not use.)
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import ray
from ray.cluster_utils import Cluster

import dmrank
from benchmarks.record import add_record_option, write_record
from dmrank.distributed.lists import write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile

_USERS, _ITEMS, _ROWS = 2_190_000, 36_500, 5_000_000
_STORE = 100 << 20
Result = TypeVar("Result")


def own_memory(process: int | str = "self") -> float:
    """Return the megabytes of a process that belong to no file on a disk; 0 of one that ended."""
    kilobytes = 0
    with suppress(OSError), Path(f"/proc/{process}/status").open() as told:
        for line in told:
            if line.startswith(("RssAnon:", "RssShmem:")):
                kilobytes += int(line.split()[1])
    return kilobytes / 1_024


def processes_of(raylet: int) -> list[int]:
    """Return a node's processes: its raylet, and what that has started."""
    found = [raylet]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found


class Watch:
    """Looks at the memory of the driver and of the nodes while something runs."""

    def __init__(self, raylets: list[int]) -> None:
        self._raylets, self._stopped = raylets, threading.Event()
        self.driver, self.node = own_memory(), 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._stopped.wait(0.05):
            self.driver = max(self.driver, own_memory())
            for raylet in self._raylets:
                self.node = max(self.node, sum(map(own_memory, processes_of(raylet))))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


class Steps:
    """Runs one step after the other, and tells how long each took and what it needed."""

    def __init__(self, raylets: list[int], megabytes: int) -> None:
        self._raylets, self._megabytes = raylets, megabytes
        self.rows: list[dict[str, str]] = []

    def run(self, what: str, function: Callable[[], Result]) -> Result:
        before, started = own_memory(), time.perf_counter()
        with Watch(self._raylets) as watch:
            result = function()
        seconds = time.perf_counter() - started
        row = {
            "step": what,
            "seconds": f"{seconds:,.0f}",
            "driver": f"{watch.driver - before:,.0f} MB",
            "largest node": f"{watch.node:,.0f} MB",
        }
        print("{:<28}{:>8} s{:>12} of the driver{:>12} of a node".format(*row.values()), flush=True)
        self.rows.append(row)
        if watch.node > self._megabytes:
            raise SystemExit(f"a node had {watch.node:,.0f} MB, more than {self._megabytes}")
        return result


def started(nodes: int) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(nodes):
        cluster.add_node(num_cpus=1, object_store_memory=_STORE, wait=False)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.CRITICAL)
    return cluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of a tenth of HotelRec")
    parser.add_argument("--items", type=int, help="so many instead of 36,500 by the scale")
    parser.add_argument("--factors", type=int, default=32)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--listed", type=int, default=50_000, help="users who get a list")
    parser.add_argument("--judged", type=int, default=5_000, help="users whose lists are judged")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=1_000, help="of each node")
    add_record_option(parser)
    given = parser.parse_args()
    cluster = started(given.nodes)
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.worker_nodes]
    folder = Path(tempfile.mkdtemp(prefix="dmrank-large-", dir="."))
    try:
        rows = run(given, folder, Steps(raylets, given.megabytes))
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    if given.record:
        command = f"python -m benchmarks.cluster_large {shlex.join(sys.argv[1:])}"
        write_record("cluster-large", command, rows, ("ray",))


def run(given: argparse.Namespace, folder: Path, steps: Steps) -> list[dict[str, str]]:
    sizes = [int(given.scale * size) for size in (_USERS, _ITEMS, _ROWS)]
    sizes[1] = given.items or sizes[1]
    split = steps.run(
        "ratings, split",
        lambda: dmrank.make_ratings(*sizes, missing=0.3, seed=0).ratings.split(seed=0),
    )
    users, K, train = sizes[0], len(split.train.aspects), split.train
    side = users * (4 * given.factors + 8 * K + 4 * K + 8 * K * (K + 1) // 2) / 2**20
    rows = f"{len(train):,} training ratings of {users:,} users × {sizes[1]:,} items × {K}"
    print(f"{rows}; the user side has {side:.0f} MB, a node {given.megabytes}")
    model = dmrank.Hurdle(
        members=["ials", "cooccurrence"],
        ials={"factors": given.factors, "iterations": given.sweeps},
        seed=0,
    )
    with dmrank.cluster(folder=folder):
        steps.run("fit", lambda: model.fit(train, validation=split.validation))
        file = steps.run("save", lambda: ModelFile.at(model.save(folder / "model.dmrank")))
        print(f"the file has {file.size / 2**20:,.0f} MB")
        rated = np.flatnonzero(np.diff(train.user_pointer))
        chosen = np.random.default_rng(0).permutation(rated)
        asked = train.users.names(np.sort(chosen[: given.listed])).to_list()
        parts = PartSettings(folder / "lists", is_joined=False, users_per_part=4_096)
        steps.run(f"lists of {len(asked):,}", lambda: write_list_parts(file, asked, 10, {}, parts))
        judged = train.users.names(np.sort(chosen[: 4 * given.judged])).to_list()
        some = dmrank.Split(train, split.validation, split.test.filter(users=judged))
        fitted = dmrank.load(file.path)
        print(steps.run("evaluation", lambda: dmrank.evaluate(fitted, some, metrics=["ndcg@10"])))
    return steps.rows


if __name__ == "__main__":
    main()
