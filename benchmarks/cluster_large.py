"""A tenth of HotelRec, made up, on three nodes none of which may hold its user side.

    python -m benchmarks.cluster_large --record     # needs the extra `ray`, and root; half an hour
    python -m benchmarks.cluster_large --scale 0.1        # a tenth of the tenth, for a first look

HotelRec has 50 million reviews by 21.9 million users of 365,000 hotels. Nodes are processes of this
machine, each with all that belongs to it (its part of Ray, a worker, an object store) in a control
group of the system that may have so much memory: less than the user side takes. Pages of files
count while they are in memory, and the system lets go of them. What the driver and the nodes have
of their own, beside files, is looked at ten times a second.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import ray
from ray.cluster_utils import Cluster

import dmrank
from benchmarks.record import write_record
from dmrank.distributed.lists import write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile

_USERS, _ITEMS, _ROWS = 2_190_000, 36_500, 5_000_000
_STORE = 100 << 20
Result = TypeVar("Result")


class Group:
    """A control group of processes with a limit of memory, of either version of Linux's."""

    def __init__(self, name: str, megabytes: int) -> None:
        root = Path("/sys/fs/cgroup")
        self._root = root / "memory" if (root / "memory").is_dir() else root
        self._folder = self._root / f"dmrank-{os.getpid()}-{name}"
        is_first = self._root != root
        limit = "memory.limit_in_bytes" if is_first else "memory.max"
        self._own = "total_rss" if is_first else "anon"
        try:
            if not is_first:
                (root / "cgroup.subtree_control").write_text("+memory")
            self._folder.mkdir()
            (self._folder / limit).write_text(str(megabytes << 20))
        except OSError as error:
            raise SystemExit(f"no limit of memory can be set, run it as root: {error}") from None

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Let processes that are started within the block belong to it."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self._root / "cgroup.procs").write_text(str(os.getpid()))

    def own_memory(self) -> float:
        """Return the megabytes of its processes that belong to no file."""
        told = (line.split() for line in (self._folder / "memory.stat").read_text().splitlines())
        return int(next(size for name, size in told if name == self._own)) / 2**20

    def remove(self) -> None:
        """Remove it, once its processes have ended."""
        for _ in range(100):
            try:
                self._folder.rmdir()
                return
            except OSError:
                time.sleep(0.1)


def own_memory() -> float:
    """Return the megabytes of this process that belong to no file."""
    with Path("/proc/self/smaps_rollup").open() as told:
        kilobytes = {line.split(":")[0]: line.split()[1] for line in told if "kB" in line}
    return int(kilobytes["Anonymous"]) / 1_024


class Watch:
    """Looks at the memory of the driver and of the nodes while something runs."""

    def __init__(self, groups: list[Group]) -> None:
        self._groups, self._stopped = groups, threading.Event()
        self.driver, self.node = own_memory(), 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._stopped.wait(0.1):
            self.driver = max(self.driver, own_memory())
            self.node = max(self.node, *(group.own_memory() for group in self._groups))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


class Steps:
    """Runs one step after the other, and tells how long each took and what it needed."""

    def __init__(self, groups: list[Group]) -> None:
        self._groups = groups
        self.rows: list[dict[str, str]] = []

    def run(self, what: str, function: Callable[[], Result]) -> Result:
        before, started = own_memory(), time.perf_counter()
        with Watch(self._groups) as watch:
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
        return result


def started(groups: list[Group]) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for group in groups:
        with group.joined():
            cluster.add_node(num_cpus=1, object_store_memory=_STORE, wait=False)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.CRITICAL)
    return cluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of a tenth of HotelRec")
    parser.add_argument("--factors", type=int, default=32)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--listed", type=int, default=50_000, help="users who get a list")
    parser.add_argument("--judged", type=int, default=5_000, help="users whose lists are judged")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=1_000, help="of each node")
    parser.add_argument("--record", action="store_true", help="keep what is found, for the docs")
    given = parser.parse_args()
    groups = [Group(str(number), given.megabytes) for number in range(given.nodes)]
    # Before there is anything in memory: what this process has belongs to no node.
    cluster = started(groups)
    folder = Path(tempfile.mkdtemp(prefix="dmrank-large-", dir="."))
    try:
        rows = run(given, folder, Steps(groups))
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
        for group in groups:
            group.remove()
    if given.record:
        command = "python -m benchmarks.cluster_large --record"
        write_record("cluster-large", command, rows, ("ray",))


def run(given: argparse.Namespace, folder: Path, steps: Steps) -> list[dict[str, str]]:
    sizes = [int(given.scale * size) for size in (_USERS, _ITEMS, _ROWS)]
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
