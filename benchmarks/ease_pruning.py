"""EASE, dense and with the largest weights of each item alone: file, seconds and NDCG@10.

    python -m benchmarks.ease_pruning [--file beeradvocate] [--seed 1] [--record]

Validation ratings of one split, full ranking by the primary aspect.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import dmrank
from benchmarks.record import add_record_option, as_called, write_record

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
KEPT = (None, 400, 200, 100, 50)
#: Users who are asked for a list one by one.
ASKED = 200
ROW = "{:>8}{:>10}{:>8}{:>10}{:>10}{:>10}"
COLUMNS = ("weights per item", "file, MB", "fit, s", "a list, ms", "dropped", "NDCG@10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", default=FILES[-1], choices=FILES)
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser)
    arguments = parser.parse_args()
    ratings = dmrank.read_ratings(DATA / f"{arguments.file}.parquet", verbose=False).k_core(5)
    split = ratings.split(seed=arguments.seed)
    print(ROW.format("weights", *COLUMNS[1:]))
    rows, whole = [], None
    for kept in KEPT:
        started = time.perf_counter()
        model = dmrank.EASE(weights_per_item=kept, validation_users=10**9)
        model.fit(split.train, validation=split.validation)
        seconds = time.perf_counter() - started
        with tempfile.TemporaryDirectory() as folder:
            path = model.save(Path(folder) / "ease.dmrank")
            size = path.stat().st_size / 1e6
            median = median_of_lists(dmrank.load(path), list(ratings.users)[:ASKED])
        squares = sum_of_squares(model)
        whole = whole or squares
        dropped = "–" if kept is None else f"{1 - squares / whole:.0%}"
        name = "all" if kept is None else str(kept)
        figures = (name, f"{size:.0f}", f"{seconds:.0f}", f"{median:.2f}", dropped)
        value = model.history.validation[0]
        print(ROW.format(*figures, f"{value:.4f}"), flush=True)
        rows.append(dict(zip(COLUMNS, (*figures, value), strict=True)))
    if arguments.record:
        write_record(f"ease-pruning-{arguments.file}", as_called("ease_pruning"), rows)


def sum_of_squares(model: dmrank.EASE) -> float:
    """Return the sum of squared weights, dense or sparse: whatever else is kept counts."""
    weights = (array for array in model.arrays.values() if array.dtype == np.float32)
    return float(sum(np.square(array, dtype=np.float64).sum() for array in weights))


def median_of_lists(model: dmrank.Model, users: list[str]) -> float:
    """Return the median of the milliseconds that a list takes."""
    taken = []
    for user in [users[0], *users]:  # the first makes what is kept for all
        started = time.perf_counter()
        model.recommend(user)
        taken.append(1e3 * (time.perf_counter() - started))
    return float(np.median(taken[1:]))


if __name__ == "__main__":
    main()
