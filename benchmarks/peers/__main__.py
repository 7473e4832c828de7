"""Hurdle and DMR beside implicit, Cornac, RecTools and LensKit, each fitted by its own package.

    make peers-table                                       # both environments, and the table
    python -m benchmarks.peers --runs RUNS [--file tripadvisor] [--models "implicit ALS" …]
    python -m benchmarks.peers --runs RUNS --times         # seconds to fit again, nothing else
    python -m benchmarks.peers --runs RUNS --show [--record]          # the table, in Markdown

A run judges the models whose libraries are installed: RecTools wants an older NumPy than the
others, `make peers-table` has an environment for each. What is done is kept in the folder RUNS, so
that a killed run goes on.

Everybody learns from the same training ratings, on one thread. A peer has six settings, the grid of
its main ones in contenders.py, on validation ratings, and is judged once on test with the best of
them; ours has its defaults, and the same validation ratings to choose weights by. Models of lists
are tuned by NDCG@10, those that predict ratings by the order of rated pairs.
"""

from __future__ import annotations

import os

# Everybody has one thread, and so has what they are built on.
os.environ.update({
    f"{library}_NUM_THREADS": "1"
    for library in ("OPENBLAS", "OMP", "MKL", "NUMBA", "RAYON", "LK")
})  # fmt: skip

import argparse
import json
import statistics
import sys
import time
import zlib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import dmrank
from benchmarks.beyond import DATA, FILES, keep, split_of
from benchmarks.originals.contest import trials
from benchmarks.peers.contenders import CONTENDERS, LISTS, SEED, THREADS, Contender
from benchmarks.peers.table import recorded, show
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import rated_pairs

METRICS = ("ap", "ndcg@10", "ndcg@50")
TIMED = 3


def judge(name: str, split: dmrank.Split, target: Path) -> None:
    """Tune a model on validation, and look at test once with the best settings."""
    contender = CONTENDERS[name]
    data = contender.prepare(split)
    found: dict[str, Any] = read(target) or {
        "library": contender.library,
        "version": version(contender.library),
        "test": zlib.crc32(split.test.user_codes.tobytes() + split.test.item_codes.tobytes()),
        "trials": [],
    }
    for settings in trials(contender.grid) if contender.grid else []:
        if settings in (tried for tried, _ in found["trials"]):
            continue
        started = time.perf_counter()
        model = contender.adapt(contender.fit(data, settings), data, split.train)
        value = on_validation(model, split, contender.tuned_by)
        found["trials"].append([settings, value])
        keep(target, found)
        seconds = time.perf_counter() - started
        print(f"{name} {settings}: {contender.tuned_by} {value:.4f}, {seconds:.0f} s", flush=True)
    if found["trials"]:
        found["settings"] = max(found["trials"], key=lambda trial: trial[1])[0]
    else:
        found["settings"] = {}
        compile_ahead(contender)
    started = time.perf_counter()
    fitted = contender.fit(data, found["settings"])
    found["seconds"] = time.perf_counter() - started
    keep(target, found | on_test(contender.adapt(fitted, data, split.train), split))
    print(f"{name}: done", flush=True)


def read(target: Path) -> dict[str, Any]:
    return json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}


def on_validation(model: Any, split: dmrank.Split, tuned_by: str) -> float:
    nothing = split.validation.select(np.empty(0, dtype=np.int64))
    held_out = dmrank.Split(split.train, nothing, split.validation)
    if tuned_by != LISTS:
        return rated_pairs(held_out).accuracy(model).pooled
    overall = [split.train.primary_aspect]
    report = dmrank.evaluate(
        {"model": model}, held_out, metrics=[LISTS], aspects=overall, threads=THREADS
    )
    return report.mean("model", LISTS)


def on_test(model: Any, split: dmrank.Split) -> dict[str, Any]:
    report = dmrank.evaluate({"model": model}, split, metrics=METRICS, threads=THREADS)
    found: dict[str, Any] = {
        f"{metric} {by}": report.mean("model", metric, by)
        for metric in METRICS
        for by in (report.primary_aspect, "average")
    }
    pairs = rated_pairs(split)
    found["rated pairs"] = pairs.accuracy(model).pooled
    # One score for all aspects says nothing of their contrast.
    by_aspect = isinstance(model, dmrank.Model)
    found["contrast"] = pairs.contrast(model).pooled if by_aspect else None
    return found | {"per user": report.per_user("model", LISTS).tolist()}


def compile_ahead(contender: Contender) -> None:
    """Fit on little what no trial has fitted, so that nothing is compiled while time is taken."""
    small = dmrank.make_ratings(60, 25, 900, seed=SEED).ratings.split(seed=SEED)
    contender.fit(contender.prepare(small), {})


def time_again(name: str, split: dmrank.Split, target: Path) -> None:
    """Take the time of fits with the settings that were chosen; of the median, none compiles."""
    contender, found = CONTENDERS[name], read(target)
    data = contender.prepare(split)
    seconds = []
    for _ in range(TIMED):
        started = time.perf_counter()
        contender.fit(data, found["settings"])
        seconds.append(time.perf_counter() - started)
    keep(target, found | {"seconds": statistics.median(seconds)})
    print(f"{name}: {found['seconds']:.2f} s before, now {sorted(seconds)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="folder that keeps what is done")
    parser.add_argument("--file", default=FILES[0], choices=FILES)
    parser.add_argument("--models", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS))
    parser.add_argument("--times", action="store_true", help="only take the time of fits again")
    parser.add_argument("--show", action="store_true", help="print the table of what is done")
    add_record_option(parser)
    arguments = parser.parse_args()
    targets = {name: arguments.runs / arguments.file / f"{name}.json" for name in CONTENDERS}
    done = {name: kept for name, target in targets.items() if "per user" in (kept := read(target))}
    if arguments.show:
        show(done)
        if arguments.record:
            write_record(f"peers-{arguments.file}", as_called("peers"), recorded(done))
        return
    if not (DATA / f"{arguments.file}.parquet").exists():
        sys.exit(f"{DATA / arguments.file}.parquet is missing: put the ratings there")
    split = split_of(arguments.file, SEED)
    for name in arguments.models:
        if find_spec(CONTENDERS[name].library) is None:
            print(f"{name}: left out, {CONTENDERS[name].library} is not installed here")
        elif arguments.times and name in done:
            time_again(name, split, targets[name])
        elif not arguments.times and name not in done:
            judge(name, split, targets[name])


if __name__ == "__main__":
    main()
