"""The same work by two threads of one process and by Ray nodes of one core each, in one run.

    python benchmarks/cluster.py                          # needs the extra `ray`
    python benchmarks/cluster.py --workers 2 4 --users 40000

Nodes are processes of this machine: what is measured is what a cluster costs, not what more of them
bring. Each is timed after a run that compiles; times are medians.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dmrank
from dmrank.distributed.lists import write_folded_in_parts, write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models.opened import ModelFile
from dmrank.support.workers import current_workers

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
    reviews = make_reviews(2 * given.users)
    polarity = dmrank.learn_polarity(reviews, overall="stars")

    def parts(users_per_part: int) -> PartSettings:
        target = folder / "parts"
        shutil.rmtree(target, ignore_errors=True)
        return PartSettings(target, is_joined=False, users_per_part=users_per_part)

    return {
        "extraction": lambda: dmrank.extract_aspects(
            reviews, overall="stars", polarity=polarity, verbose=False
        ),
        "lists": lambda: write_list_parts(file, users, 10, {"by": "service"}, parts(2_048)),
        "folding in": lambda: write_folded_in_parts(file, new, 10, {}, parts(256)),
        "evaluation": lambda: dmrank.evaluate(model, split),
        "fit of a Hurdle": lambda: dmrank.Hurdle(seed=0).fit(
            split.train, validation=split.validation
        ),
        "search of 8 settings": lambda: dmrank.tune("IALS", split, trials=8, width=8, prune=False),
    }


def timed(function: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def overhead(blocks: int = 200) -> float:
    """Return the milliseconds that a block costs beside its work, on the cluster at hand."""
    workers = current_workers()
    assert workers is not None
    list(workers.run(abs, [(1,)] * 20))
    started = time.perf_counter()
    list(workers.run(abs, ((-number,) for number in range(blocks))))
    return 1_000 * (time.perf_counter() - started) / blocks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="names of what is timed")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dmrank-bench-"))
    try:
        chosen = {
            name: function
            for name, function in work(given, folder).items()
            if given.only is None or name in given.only
        }
        for function in chosen.values():
            function()
        here = {name: timed(function, given.repeats) for name, function in chosen.items()}
        for workers in given.workers:
            with dmrank.cluster(f"local:{workers}"):
                print(f"\n{workers} workers; a block costs {overhead():.1f} ms beside its work")
                print(_ROW.format("", "all threads", "workers", "speed"))
                for name, function in chosen.items():
                    function()
                    there = timed(function, given.repeats)
                    shown = f"{here[name]:.2f} s", f"{there:.2f} s", f"{here[name] / there:.0%}"
                    print(_ROW.format(name, *shown), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
