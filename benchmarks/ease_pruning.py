"""EASE, dense and with the largest weights of each item alone: file, seconds and NDCG@10.

    python benchmarks/ease_pruning.py [--file beeradvocate] [--seed 1]

Validation ratings of one split, full ranking by the primary aspect.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import dmrank

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
KEPT = (None, 400, 200, 100, 50)
#: Users who are asked for a list one by one.
ASKED = 200
ROW = "{:>8}{:>10}{:>8}{:>10}{:>10}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", default=FILES[-1], choices=FILES)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    ratings = dmrank.read_ratings(DATA / f"{arguments.file}.parquet", verbose=False).k_core(5)
    split = ratings.split(seed=arguments.seed)
    print(ROW.format("weights", "file, MB", "fit, s", "list, ms", "NDCG@10"))
    for kept in KEPT:
        started = time.perf_counter()
        model = dmrank.EASE(weights_per_item=kept, validation_users=10**9)
        model.fit(split.train, validation=split.validation)
        seconds = time.perf_counter() - started
        with tempfile.TemporaryDirectory() as folder:
            path = model.save(Path(folder) / "ease.dmrank")
            size = path.stat().st_size / 1e6
            median = median_of_lists(dmrank.load(path), list(ratings.users)[:ASKED])
        value = model.history.validation[0]
        name = "all" if kept is None else str(kept)
        figures = (f"{size:.0f}", f"{seconds:.0f}", f"{median:.2f}", f"{value:.4f}")
        print(ROW.format(name, *figures), flush=True)


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
