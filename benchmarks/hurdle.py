"""What a Hurdle of BeerAdvocate takes: fit with defaults, file, one list, lists of everybody.

    python -m benchmarks.hurdle [--with-validation] [--record]

EASE alone, its largest member, is fitted in the same run as the ratio to go by.
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
SINGLE_LISTS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--with-validation", action="store_true", help="give validation ratings")
    add_record_option(parser)
    arguments = parser.parse_args()
    ratings = dmrank.read_ratings(DATA / "beeradvocate.parquet", verbose=False)
    split = ratings.split(seed=1)
    # What is compiled is compiled before.
    small = dmrank.make_ratings(300, 60, 6_000, seed=1).ratings
    dmrank.Hurdle().fit(small).recommend(small.users[0], by="service")
    started = time.perf_counter()
    dmrank.EASE().fit(split.train)
    alone = time.perf_counter() - started
    started = time.perf_counter()
    held_out = split.validation if arguments.with_validation else None
    model = dmrank.Hurdle().fit(split.train, validation=held_out)
    fit = time.perf_counter() - started
    found = {"fit of EASE alone": f"{alone:.1f} s", "fit": f"{fit:.1f} s"}
    found["fit beside EASE"] = f"{fit / alone:.1f}×"
    with tempfile.TemporaryDirectory() as folder:
        path = model.save(Path(folder) / "beer.dmrank")
        found["file"] = f"{path.stat().st_size / 1e6:.0f} MB"
        found |= lists(dmrank.load(path), split.train)
    for what, figure in found.items():
        print(f"{what:40}{figure:>12}")
    if arguments.record:
        rows = [{"what": what, "figure": figure} for what, figure in found.items()]
        write_record("hurdle", as_called("hurdle"), rows)


def lists(model: dmrank.Model, train: dmrank.Ratings) -> dict[str, str]:
    """Time single lists from an opened file, and those of all users."""
    known = np.flatnonzero(np.diff(train.user_pointer))
    users = train.users.names(known).to_list()
    model.recommend(users[0], by="taste")
    seconds = []
    for user in users[:: len(users) // SINGLE_LISTS][:SINGLE_LISTS]:
        started = time.perf_counter()
        model.recommend(user, by="taste")
        seconds.append(time.perf_counter() - started)
    median, most = np.percentile(seconds, [50, 95]) * 1e3
    started = time.perf_counter()
    rows = sum(len(block) for block in model.recommend_blocks(users, by="taste"))
    all_of_them = f"lists of {len(users):,} users, {rows:,} rows"
    return {
        "one list, median": f"{median:.2f} ms",
        "one list, 95 %": f"{most:.2f} ms",
        all_of_them: f"{time.perf_counter() - started:.1f} s",
    }


if __name__ == "__main__":
    main()
