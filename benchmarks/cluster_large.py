"""A tenth of HotelRec, made up, on three nodes none of which may hold its user side.

    python benchmarks/cluster_large.py              # needs the extra `ray`; half an hour
    python benchmarks/cluster_large.py --scale 0.1        # a tenth of the tenth, for a first look

HotelRec has 50 million reviews by 21.9 million users of 365,000 hotels. Nodes are processes of this
machine; each of their workers may have so much address space of its own (RLIMIT_DATA: files that it
maps are not counted, for the system can let go of them), of which 700 MB are what Python, its
libraries and their threads take before there is any data. The driver's own memory is looked at ten
times a second.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
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
from dmrank.distributed.lists import write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile

_USERS, _ITEMS, _ROWS = 2_190_000, 36_500, 5_000_000
_STORE = 100 << 20
Result = TypeVar("Result")


@contextmanager
def limited(megabytes: int) -> Iterator[None]:
    """Let processes that are started within the block have so much memory of their own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def own_memory(process: int | str = "self") -> float:
    """Return the megabytes of a process that belong to no file."""
    with Path(f"/proc/{process}/smaps_rollup").open() as told:
        kilobytes = {line.split(":")[0]: line.split()[1] for line in told if "kB" in line}
    return int(kilobytes["Anonymous"]) / 1_024


class Watch:
    """Looks at the memory of this process while something runs."""

    def __init__(self) -> None:
        self.most, self._stopped = own_memory(), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._stopped.wait(0.1):
            self.most = max(self.most, own_memory())

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


def shown(what: str, function: Callable[[], Result]) -> Result:
    """Run something, and print how long it took and what the driver needed for it."""
    before, started = own_memory(), time.perf_counter()
    with Watch() as watch:
        result = function()
    seconds = time.perf_counter() - started
    print(f"{what:<28}{seconds:>9.0f} s{watch.most - before:>9.0f} MB of the driver", flush=True)
    return result


def started(nodes: int, megabytes: int) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    with limited(megabytes):
        for _ in range(nodes):
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
    parser.add_argument("--megabytes", type=int, default=1_250, help="of each worker")
    given = parser.parse_args()
    # Before there is anything in memory: the limit counts for this process, too, while they start.
    cluster = started(given.nodes, given.megabytes)
    folder = Path(tempfile.mkdtemp(prefix="dmrank-large-", dir="."))
    try:
        run(given, folder)
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def run(given: argparse.Namespace, folder: Path) -> None:
    sizes = [int(given.scale * size) for size in (_USERS, _ITEMS, _ROWS)]
    split = shown(
        "ratings, split",
        lambda: dmrank.make_ratings(*sizes, missing=0.3, seed=0).ratings.split(seed=0),
    )
    users, K, train = sizes[0], len(split.train.aspects), split.train
    side = users * (4 * given.factors + 8 * K + 4 * K + 8 * K * (K + 1) // 2) / 2**20
    rows = f"{len(train):,} training ratings of {users:,} users × {sizes[1]:,} items × {K}"
    print(f"{rows}; the user side has {side:.0f} MB, a worker {given.megabytes}")
    model = dmrank.Hurdle(
        members=["ials", "cooccurrence"],
        ials={"factors": given.factors, "iterations": given.sweeps},
        seed=0,
    )
    with dmrank.cluster(folder=folder):
        shown("fit", lambda: model.fit(train, validation=split.validation))
        file = shown("save", lambda: ModelFile.at(model.save(folder / "model.dmrank")))
        print(f"the file has {file.size / 2**20:,.0f} MB")
        rated = np.flatnonzero(np.diff(train.user_pointer))
        chosen = np.random.default_rng(0).permutation(rated)
        asked = train.users.names(np.sort(chosen[: given.listed])).to_list()
        parts = PartSettings(folder / "lists", is_joined=False, users_per_part=4_096)
        shown(f"lists of {len(asked):,}", lambda: write_list_parts(file, asked, 10, {}, parts))
        judged = train.users.names(np.sort(chosen[: 4 * given.judged])).to_list()
        some = dmrank.Split(train, split.validation, split.test.filter(users=judged))
        fitted = dmrank.load(file.path)
        print(shown("evaluation", lambda: dmrank.evaluate(fitted, some, metrics=["ndcg@10"])))


if __name__ == "__main__":
    main()
