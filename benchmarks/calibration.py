"""Predicted ratings and probabilities of orders, calibrated on training or on held-out rows.

    python -m benchmarks.calibration [--iterations 6000] [--record]

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
from benchmarks.record import add_record_option, as_called, write_record
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
COLUMNS = ("model", "calibrated on", "RMSE", "said", "right", "error", "log-loss")


def measure(
    split: dmrank.Split, name: str, model: dmrank.DMR, calibrated_on: str
) -> dict[str, str]:
    """Print how far off predictions are, and return it as a row of a table."""
    test = split.test.select(np.flatnonzero(~split.cold_rows(split.test)))
    users, items = test.user_codes, test.item_codes
    error = training_values(test) - training_scale_ratings(model, users, items)
    pairs = rated_pairs(split)
    probability = order_probabilities(model, pairs.users, pairs.first, pairs.second)
    ordered = np.nan_to_num(pairs.observed) != 0
    of_observed = np.where(pairs.observed > 0, probability, 1 - probability)[ordered]
    said = np.maximum(probability, 1 - probability)[ordered]
    values = (
        np.sqrt(np.nanmean(error**2)),
        said.mean(),
        (of_observed > 0.5).mean(),
        calibration_curve(probability, pairs.observed).error,
        -np.log(np.maximum(of_observed, 1e-12)).mean(),
    )
    cells = (name, calibrated_on, *(f"{value:.3f}" for value in values))
    print(TABLE.format(*cells), flush=True)
    return dict(zip(COLUMNS, cells, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--iterations", type=int, default=6_000)
    add_record_option(parser)
    arguments = parser.parse_args()
    rows = []
    for file in arguments.files:
        split = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False).split(seed=0)
        print(f"\n{file}")
        print(TABLE.format(*COLUMNS))
        for name, options in VARIANTS.items():
            model = dmrank.DMR(
                iterations=arguments.iterations, evaluate_every=1_000, patience=3, threads=1,
                **options,
            )  # fmt: skip
            model.fit(split.train, validation=split.validation)
            held_out = measure(split, name, model, "held-out")
            model.calibration = calibrate_model(model, split.train, None)
            training = measure(split, name, model, "training")
            rows += [{"file": file, **row} for row in (held_out, training)]
    if arguments.record:
        write_record("calibration", as_called("calibration"), rows)


if __name__ == "__main__":
    main()
