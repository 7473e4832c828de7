"""Every model with its defaults: validation NDCG@10 by overall, rated pairs, and how long it takes.

    python benchmarks/models.py --files ../shared/data/yahoo-movies.parquet

Validation ratings are all that is looked at: defaults were chosen by them, and early stopping sees
NDCG@10. The order of rated pairs has no part in either.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import dmrank
from dmrank.evaluation import rated_pairs
from dmrank.models import MODELS

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = [DATA / f"{name}.parquet" for name in ("yahoo-movies", "tripadvisor", "beeradvocate")]
TABLE = "{:<12}{:>10}{:>14}{:>10}{:>12}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", type=Path, default=FILES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    arguments = parser.parse_args()
    for path in arguments.files:
        split = dmrank.read_ratings(path, verbose=False).k_core(5).split(seed=0)
        pairs = rated_pairs(dmrank.Split(split.train, split.test, split.validation))
        print(f"\n{path.stem}: {split.train}")
        print(TABLE.format("model", "ndcg@10", "rated pairs", "seconds", "iterations"))
        for name in arguments.models:
            started = time.perf_counter()
            model = MODELS[name]().fit(split.train, validation=split.validation)
            seconds = time.perf_counter() - started
            print(
                TABLE.format(
                    MODELS[name].__name__,
                    f"{np.nanmax(model.history.validation):.4f}",
                    f"{pairs.accuracy(model).pooled:.4f}",
                    f"{seconds:.1f}",
                    f"{model.history.best_iteration:,}",
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
