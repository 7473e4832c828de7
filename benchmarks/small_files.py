"""DMR with its defaults beside popularity on small files, where little but popularity is to learn.

    python -m benchmarks.small_files [--seeds 3] [--iterations 4000] [--large]
                                     [--record]

NDCG@10, full ranking by the primary aspect: the mean over splits, and on how many of them DMR is
behind. On validation ratings the best of many looks is compared with one look at popularity:
test ratings stand beside them. `--large` takes the whole files instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dmrank
from benchmarks.record import add_record_option, as_called, write_record

DATA = Path(__file__).parents[2] / "shared" / "data"
WHOLE = ("yahoo-movies", "tripadvisor", "beeradvocate")
#: DMR as it is, and without what small files need.
VARIANTS = {
    "DMR before": {"popularity_start": 0.0, "first_look": None},
    "early looks alone": {"popularity_start": 0.0},
    "DMR, defaults": {},
}
COLUMNS = ("file", "ratings", "popularity", *VARIANTS)
ROW = "{:<40}{:<12}{:>10}" + "{:>20}" * len(VARIANTS)


def some_users(file: str, users: int, k: int) -> dmrank.Ratings:
    """Return the ratings of randomly drawn users, without users and items that have few."""
    ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
    drawn = np.random.default_rng(0).permutation(len(ratings.users))[:users]
    return ratings.select(np.flatnonzero(np.isin(ratings.user_codes, drawn))).k_core(k)


def synthetic(items: int, ratings: int, taste: float) -> dmrank.Ratings:
    made = dmrank.make_ratings(450, items, ratings, taste=taste, least_per_user=5, seed=1)
    return made.ratings.k_core(5)


SMALL: dict[str, Callable[[], dmrank.Ratings]] = {
    "Yahoo! Movies": lambda: some_users("yahoo-movies", 450, 5),
    "BeerAdvocate": lambda: some_users("beeradvocate", 450, 5),
    # Of 450 users no five rated five hotels in common.
    "TripAdvisor, 3-core": lambda: some_users("tripadvisor", 900, 3),
    "synthetic": lambda: synthetic(200, 6_000, 1.0),
    "synthetic, little taste": lambda: synthetic(300, 4_500, 0.3),
}
LARGE: dict[str, Callable[[], dmrank.Ratings]] = {
    file: lambda file=file: dmrank.read_ratings(  # type: ignore[misc]
        DATA / f"{file}.parquet", verbose=False
    ).k_core(5)
    for file in WHOLE
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=4_000)
    parser.add_argument("--large", action="store_true")
    add_record_option(parser)
    arguments = parser.parse_args()
    print(ROW.format(*COLUMNS))
    rows = []
    for name, make in (LARGE if arguments.large else SMALL).items():
        ratings = make()
        seeds = range(1, arguments.seeds + 1)
        both = np.array([measured(ratings, seed, arguments.iterations) for seed in seeds])
        of = f"{name}, {len(ratings.users):,} users"
        for part, values in (("validation", both[:, 0]), ("test", both[:, 1])):
            means, behind = values.mean(axis=0), (values < values[:, :1]).sum(axis=0)
            shown = [f"{means[n]:.4f} ({behind[n]})" for n in range(1, len(means))]
            cells = (of, part, f"{means[0]:.4f}", *shown)
            print(ROW.format(*cells), flush=True)
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
    if arguments.record:
        name = "small-files-whole" if arguments.large else "small-files"
        write_record(name, as_called("small_files"), rows)


def measured(ratings: dmrank.Ratings, seed: int, iterations: int) -> list[list[float]]:
    """Return the values of popularity and of every variant on validation, and on test ratings."""
    split = ratings.split(seed=seed)
    models: list[dmrank.Model] = [dmrank.Popularity()]
    models += [dmrank.DMR(iterations=iterations, **changes) for changes in VARIANTS.values()]
    for model in models:
        model.fit(split.train, validation=split.validation)
    named = {str(n): model for n, model in enumerate(models)}
    aspects = [ratings.primary_aspect]
    report = dmrank.evaluate(named, split, metrics=["ndcg@10"], aspects=aspects)
    return [
        [max(model.history.validation) for model in models],
        [report.mean(name, "ndcg@10") for name in named],
    ]


if __name__ == "__main__":
    main()
