"""The same work by two threads of one process and by Ray nodes of one core each, in one run.

    python -m benchmarks.cluster                          # needs the extra `ray`
    python -m benchmarks.cluster --nodes 2 4 --record     # for docs/cluster.md

Nodes are processes of this machine: what is measured is what a cluster costs, not what more of them
bring. Each is timed after a run that compiles, in turns; times are medians.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import ray
from ray.cluster_utils import Cluster

import dmrank
from benchmarks.record import add_record_option, write_record
from dmrank.distributed.lists import write_folded_in_parts, write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile
from dmrank.support.workers import current_workers, use_workers

_STORE = 256 << 20
_ROW = "{:<26}{:>14}{:>16}{:>10}"
_WORDS = ("great", "terrible", "clean", "rude", "quiet", "tiny", "lovely", "dirty")
_THINGS = ("room", "staff", "location", "breakfast", "bathroom", "pool", "price", "bed")


def make_reviews(rows: int) -> pl.DataFrame:
    """Return reviews of about sixty words."""
    random = np.random.default_rng(0)
    said = [f"The {thing} was {word}." for thing in _THINGS for word in _WORDS]
    texts = [" ".join(random.choice(said, size=15)) for _ in range(rows)]
    return pl.DataFrame(
        {
            "user": [f"u{row}" for row in range(rows)],
            "item": [f"h{row % 997}" for row in range(rows)],
            "stars": random.integers(1, 6, rows),
            "text": texts,
        }
    )


def work(given: argparse.Namespace, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    made = dmrank.make_ratings(given.users, given.items, 12 * given.users, seed=1)
    split = made.ratings.split()
    model = dmrank.Hurdle(seed=0, members=["ials", "cooccurrence"]).fit(
        split.train, validation=split.validation
    )
    file = ModelFile.at(model.save(folder / "model.dmrank"))
    trained = np.flatnonzero(np.diff(split.train.user_pointer))
    users = split.train.users.names(trained).to_list()
    new = made.ratings.filter(users=users[: given.users // 8])
    reviews = make_reviews(given.reviews // 10)
    many = pl.concat([reviews.with_columns(user=pl.col("user") + f"-{n}") for n in range(10)])
    polarity = dmrank.learn_polarity(reviews, overall="stars")

    def parts(users_per_part: int) -> PartSettings:
        target = folder / "parts"
        shutil.rmtree(target, ignore_errors=True)
        return PartSettings(target, is_joined=False, users_per_part=users_per_part)

    def extracted(table: pl.DataFrame) -> Any:
        return dmrank.extract_aspects(table, overall="stars", polarity=polarity, verbose=False)

    return {
        f"extraction of {len(reviews):,}": lambda: extracted(reviews),
        f"extraction of {len(many):,}": lambda: extracted(many),
        "lists": lambda: write_list_parts(file, users, 10, {"by": "service"}, parts(2_048)),
        "folding in": lambda: write_folded_in_parts(file, new, 10, {}, parts(256)),
        "evaluation": lambda: dmrank.evaluate(model, split),
        "fit of a Hurdle": lambda: dmrank.Hurdle(seed=0).fit(
            split.train, validation=split.validation
        ),
        "search of 8 settings": lambda: dmrank.tune("IALS", split, trials=8, width=8, prune=False),
    }


def overhead(blocks: int = 200) -> float:
    """Return the milliseconds that a block costs beside its work, on the cluster at hand."""
    workers = current_workers()
    assert workers is not None
    list(workers.run(abs, [(1,)] * 20))
    started = time.perf_counter()
    list(workers.run(abs, ((-number,) for number in range(blocks))))
    return 1_000 * (time.perf_counter() - started) / blocks


@contextmanager
def nodes_of_one_core(count: int) -> Iterator[None]:
    """Use a cluster of a head without a CPU, and so many nodes of one each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(count):
        cluster.add_node(num_cpus=1, object_store_memory=_STORE, wait=False)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.CRITICAL)
    try:
        with dmrank.cluster():
            yield
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2])
    parser.add_argument("--users", type=int, default=40_000)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--reviews", type=int, default=800_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="beginnings of what is timed")
    add_record_option(parser)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dmrank-bench-"))
    try:
        chosen = {
            name: function
            for name, function in work(given, folder).items()
            if given.only is None or name.startswith(tuple(given.only))
        }
        for function in chosen.values():
            function()
        rows = measured(chosen, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.record:
        command = f"python -m benchmarks.cluster {shlex.join(sys.argv[1:])}"
        write_record("cluster", command, rows, ("ray",))


def measured(
    chosen: dict[str, Callable[[], Any]], given: argparse.Namespace
) -> list[dict[str, str]]:
    """Time everything by threads and by nodes; print it, and return it as rows of a table."""
    rows: dict[str, dict[str, str]] = {name: {"work": name} for name in chosen}
    rows["a block"] = {"work": "a block beside its work", "all threads": ""}
    for count in given.nodes:
        column = f"{count} nodes"
        with nodes_of_one_core(count):
            rows["a block"][column] = f"{overhead():.1f} ms"
            print(f"\n{count} nodes; a block costs {rows['a block'][column]} beside its work")
            print(_ROW.format("", "all threads", "nodes", "speed"))
            for name, function in chosen.items():
                function()
                here, there = in_turns(function, given.repeats)
                shown = f"{here:.2f} s", f"{there:.2f} s", f"{here / there:.0%}"
                print(_ROW.format(name, *shown), flush=True)
                rows[name].setdefault("all threads", shown[0])
                rows[name][column] = f"{shown[1]} ({shown[2].replace('%', ' %')})"
    return list(rows.values())


def in_turns(function: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the seconds of something by threads of this process, and by nodes."""
    seconds: tuple[list[float], list[float]] = [], []
    for _ in range(repeats):
        with use_workers(None):
            seconds[0].append(timed(function))
        seconds[1].append(timed(function))
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def timed(function: Callable[[], Any]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
