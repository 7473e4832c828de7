"""Lists by aspect of every model with its defaults: contrast, lift and specific lift.

    python -m benchmarks.by_aspect [--files yahoo-movies tripadvisor] [--models DMR …] [--seed 0]
                                   [--record]

Test ratings of one split. Models that predict ratings are not stopped early: NDCG says nothing of
them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import lift, rated_pairs

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
MODELS: dict[str, Callable[[], dmrank.Model]] = {
    "Popularity": dmrank.Popularity,
    "EASE": dmrank.EASE,
    "iALS": dmrank.IALS,
    "M-BPR": lambda: dmrank.MBPR(iterations=5_000, patience=4),
    "SPS-MTL": lambda: dmrank.SPSMTL(iterations=3_000, patience=3),
    "MTER": lambda: dmrank.MTER(iterations=5_000, patience=4),
    "DMR": lambda: dmrank.DMR(iterations=5_000, patience=4),
    "PTF": lambda: dmrank.PTF(evaluate_every=30),
    "EFM": lambda: dmrank.EFM(evaluate_every=200),
    "Ex-SAE": lambda: dmrank.ExSAE(iterations=1_000, evaluate_every=1_000),
    "ItemMean": dmrank.ItemMean,
    "MixedEffects": dmrank.MixedEffects,
    "Hurdle": dmrank.Hurdle,
}
ROW = "{:<14}{:>8}{:>10}{:>12}{:>8}{:>15}{:>9}{:>12}"
COLUMNS = (
    "model", "pairs", "contrast", "calibrated", "lift", "specific lift", "overlap", "NDCG lost"
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seed", type=int, default=0)
    add_record_option(parser)
    arguments = parser.parse_args()
    for file in arguments.files:
        ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
        split = ratings.split(seed=arguments.seed)
        pairs = rated_pairs(split)
        print(f"\n{file}, seed {arguments.seed}: {split}")
        print(ROW.format(*COLUMNS))
        rows = []
        for name in arguments.models:
            model = MODELS[name]().fit(split.train, validation=split.validation)
            found = lift(model, split)
            values = (
                pairs.accuracy(model).pooled,
                pairs.contrast(model).pooled,
                pairs.contrast(model, calibrated=True).pooled,
                *(found.table[key].mean() for key in ("lift", "specific", "overlap", "ndcg_loss")),
            )
            cells = (name, *(f"{value:.3f}" for value in values))
            print(ROW.format(*cells), flush=True)
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
        if found.skipped:
            print(f"skipped, with too few items to judge: {', '.join(found.skipped)}")
        if arguments.record:
            write_record(f"by-aspect-{file}", as_called("by_aspect"), rows)


if __name__ == "__main__":
    main()
