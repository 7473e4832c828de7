"""EASE as published beside our defaults: NDCG@10 on validation, full ranking, all users.

    python -m benchmarks.ease_settings [--files yahoo-movies …] [--seed 1] [--record]

As published, every user counts the same and no rating is dropped; λ is one for all files, or the
best of those tried for each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dmrank
from benchmarks.record import add_record_option, as_called, write_record

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
PUBLISHED = {"activity_exponent": 0.0, "dropout": 0.0}
RIDGES = (100.0, 300.0, 1_000.0)
FOR_ALL = 300.0


def value(split: dmrank.Split, **settings: float) -> float:
    """Return NDCG@10 of one fit on the validation ratings."""
    model = dmrank.EASE(validation_users=10**9, **settings)
    model.fit(split.train, validation=split.validation)
    return float(model.history.validation[0])


def compared(split: dmrank.Split) -> dict[str, str]:
    """Return what the settings give on one split."""
    published = {ridge: value(split, regularization=ridge, **PUBLISHED) for ridge in RIDGES}
    best = max(published, key=lambda ridge: published[ridge])
    return {
        f"plain, λ = {FOR_ALL:.0f}": f"{published[FOR_ALL]:.4f}",
        "plain, best λ of the file": f"{published[best]:.4f} ({best:,.0f})",
        "defaults": f"{value(split):.4f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser)
    arguments = parser.parse_args()
    rows = []
    for file in arguments.files:
        ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False).k_core(5)
        rows.append({"file": file, **compared(ratings.split(seed=arguments.seed))})
        print(" | ".join(rows[-1].values()), flush=True)
    if arguments.record:
        write_record("ease-settings", as_called("ease_settings"), rows)


if __name__ == "__main__":
    main()
