"""DMR by the density along the ray (the paper's) and by that of a direction among all directions.

    python -m benchmarks.density [--files yahoo-movies …] [--threads 1] [--record]

Fitted on train of seed 1, with one regularization and number of factors for all, and judged on
validation ratings, which also stop the training: lists (NDCG@10 by overall), orders of rated pairs,
contrasts, the rank correlation of confidence with right orders, the error of calibrated
probabilities; and what shrinks: the median length of the predicted differences of rated pairs, not
calibrated, and the median standard deviation of Σ, on the scale 1–5.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path

import numpy as np

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import (
    calibration_curve,
    confidence_levels,
    order_probability,
    pair_confidence,
    rated_pairs,
)

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
SETTINGS = {"factors": 40, "regularization": 0.02, "popularity_start": 0.0, "patience": 4}
COLUMNS = (
    "family", "hard negatives", "density",
    "NDCG@10", "pairs", "contrast", "confidence", "error", "length", "deviation",
)  # fmt: skip
#: Of the figures, what has the best where it is highest.
HIGHEST = ("NDCG@10", "pairs", "contrast", "confidence")
ROW = "{:<10}{:>16}{:>12}" + "{:>12}" * (len(COLUMNS) - 3) + "{:>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--threads", type=int)
    add_record_option(parser)
    arguments = parser.parse_args()
    for file in arguments.files:
        whole = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False).split(seed=1)
        # What is held out is not to be recommended: nothing is, but what is judged.
        nothing = whole.validation.select(np.zeros(len(whole.validation), dtype=np.bool_))
        split = dmrank.Split(whole.train, nothing, whole.validation)
        print(f"\n{file}\n{ROW.format(*COLUMNS, 's')}")
        rows = []
        for family, hard, density in product(("gaussian", "student"), (1, 5), ("ray", "direction")):
            model = dmrank.DMR(
                family=family,
                hard_negatives=hard,
                density=density,
                threads=arguments.threads,
                **SETTINGS,
            )
            started = time.perf_counter()
            model.fit(split.train, validation=split.test)
            seconds = time.perf_counter() - started
            found = dict(zip(COLUMNS, (family, hard, density, *judged(model, split)), strict=True))
            shown = {
                name: f"{value:.3f}" if isinstance(value, float) and name not in HIGHEST else value
                for name, value in found.items()
            }
            cells = [f"{v:.4f}" if isinstance(v, float) else v for v in shown.values()]
            print(ROW.format(*cells, f"{seconds:.0f}"), flush=True)
            rows.append(shown)
        if arguments.record:
            write_record(f"density-{file}", as_called("density"), rows)


def judged(model: dmrank.DMR, split: dmrank.Split) -> list[float]:
    """Return the figures of one model."""
    report = dmrank.evaluate({"DMR": model}, split, metrics=["ndcg@10"], aspects=["overall"])
    pairs = rated_pairs(split)
    predicted = pairs.predicted(model)
    levels = confidence_levels(pair_confidence(model, pairs), pairs, predicted)
    covariances = model.covariances(pairs.users, pairs.first)
    return [
        report.mean("DMR", "ndcg@10"),
        pairs.accuracy(model).pooled,
        pairs.contrast(model).pooled,
        levels.pair_correlation,
        calibration_curve(order_probability(model, pairs), pairs.observed).error,
        float(np.median(np.linalg.norm(predicted, axis=1))),
        float(np.median(np.sqrt(np.diagonal(covariances, axis1=1, axis2=2)))),
    ]


if __name__ == "__main__":
    main()
