"""DMR by the density along the ray (the paper's) and by that of a direction among all directions.

    python benchmarks/density.py [--files yahoo-movies …] [--threads 1]

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
COLUMNS = ("NDCG@10", "pairs", "contrast", "confidence", "error", "length", "deviation", "s")
ROW = "| {} | {} | {} | {} |" + " {} |" * len(COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    print(ROW.format("file", "family", "hard negatives", "density", *COLUMNS))
    for file in arguments.files:
        whole = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False).split(seed=1)
        # What is held out is not to be recommended: nothing is, but what is judged.
        nothing = whole.validation.select(np.zeros(len(whole.validation), dtype=np.bool_))
        split = dmrank.Split(whole.train, nothing, whole.validation)
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
            shown = [f"{value:.4f}" for value in judged(model, split)]
            print(ROW.format(file, family, hard, density, *shown, f"{seconds:.0f}"), flush=True)


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
