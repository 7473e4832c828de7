"""Every model with its defaults: validation NDCG@10 by overall, rated pairs, and how long it takes.

    python -m benchmarks.models --files ../shared/data/yahoo-movies.parquet --record

Validation ratings are all that is looked at: defaults were chosen by them, and early stopping sees
NDCG@10. The order of rated pairs has no part in either. `--record` keeps the figures for the pages
(`benchmarks/record.py`); seconds are not kept, for they belong to a machine and what else it does.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

import numpy as np

import dmrank
from benchmarks.record import add_record_option, write_record
from dmrank.evaluation import rated_pairs
from dmrank.models import MODELS

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = [DATA / f"{name}.parquet" for name in ("yahoo-movies", "tripadvisor", "beeradvocate")]
TABLE = "{:<12}{:>10}{:>14}{:>10}{:>12}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", type=Path, default=FILES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    add_record_option(parser)
    arguments = parser.parse_args()
    for path in arguments.files:
        split = dmrank.read_ratings(path, verbose=False).k_core(5).split(seed=0)
        pairs = rated_pairs(dmrank.Split(split.train, split.test, split.validation))
        print(f"\n{path.stem}: {split.train}")
        print(TABLE.format("model", "ndcg@10", "rated pairs", "seconds", "iterations"))
        rows: list[dict[str, object]] = []
        for name in arguments.models:
            started = time.perf_counter()
            model = MODELS[name]().fit(split.train, validation=split.validation)
            seconds = time.perf_counter() - started
            value, share = float(np.nanmax(model.history.validation)), pairs.accuracy(model).pooled
            kind, best = MODELS[name].__name__, model.history.best_iteration
            rows.append({"model": kind, "NDCG@10": round(value, 6), "rated pairs": round(share, 6)})
            print(
                TABLE.format(kind, f"{value:.4f}", f"{share:.4f}", f"{seconds:.1f}", f"{best:,}"),
                flush=True,
            )
            if arguments.record:
                ordered = sorted(rows, key=lambda row: row["NDCG@10"], reverse=True)  # type: ignore[arg-type, return-value]
                given = shlex.join(sys.argv[1:])
                write_record(f"models-{path.stem}", f"python -m benchmarks.models {given}", ordered)


if __name__ == "__main__":
    main()
