"""Predicted ratings and probabilities of orders, calibrated on training or on held-out rows.

    python benchmarks/calibration.py [--iterations 6000]

DMR on two files, early stopping on validation. Of the same model: RMSE of predicted ratings on test
ratings, and over pairs of test items of one user, all aspects: the mean probability of the
predicted order, how often it is the observed one, the calibration error (ten bins) and the log-loss
(0.693 is a coin). Calibrated on training ratings alone, as without validation, and on validation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import dmrank
from dmrank.answers.compare import order_probabilities
from dmrank.answers.predict import training_scale_ratings
from dmrank.evaluation import calibration_curve, rated_pairs
from dmrank.fitted.calibrating import calibrate_model
from dmrank.training.data import training_values

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor")
VARIANTS: dict[str, dict[str, object]] = {
    "defaults": {},
    "half of the pairs rated": {"rated_share": 0.5},
    "student, hard negatives, identity": {
        "family": "student", "covariance": "identity", "hard_negatives": 5,
    },
}  # fmt: skip
TABLE = "{:<36}{:<14}{:>8}{:>8}{:>8}{:>8}{:>10}"


def measure(split: dmrank.Split, name: str, model: dmrank.DMR, calibrated_on: str) -> None:
    test = split.test.select(np.flatnonzero(~split.cold_rows(split.test)))
    users, items = test.user_codes, test.item_codes
    error = training_values(test) - training_scale_ratings(model, users, items)
    pairs = rated_pairs(split)
    probability = order_probabilities(model, pairs.users, pairs.first, pairs.second)
    ordered = np.nan_to_num(pairs.observed) != 0
    of_observed = np.where(pairs.observed > 0, probability, 1 - probability)[ordered]
    said = np.maximum(probability, 1 - probability)[ordered]
    print(
        TABLE.format(
            name,
            calibrated_on,
            f"{np.sqrt(np.nanmean(error**2)):.3f}",
            f"{said.mean():.3f}",
            f"{(of_observed > 0.5).mean():.3f}",
            f"{calibration_curve(probability, pairs.observed).error:.3f}",
            f"{-np.log(np.maximum(of_observed, 1e-12)).mean():.3f}",
        ),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--iterations", type=int, default=6_000)
    arguments = parser.parse_args()
    for file in arguments.files:
        split = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False).split(seed=0)
        print(f"\n{file}")
        print(TABLE.format("", "calibrated on", "RMSE", "said", "right", "error", "log-loss"))
        for name, options in VARIANTS.items():
            model = dmrank.DMR(
                iterations=arguments.iterations, evaluate_every=1_000, patience=3, threads=1,
                **options,
            )  # fmt: skip
            model.fit(split.train, validation=split.validation)
            measure(split, name, model, "held-out")
            model.calibration = calibrate_model(model, split.train, None)
            measure(split, name, model, "training")


if __name__ == "__main__":
    main()
