"""What a Hurdle of BeerAdvocate takes: fit with defaults, file, one list, lists of everybody.

    python -m benchmarks.hurdle [--with-validation]

EASE alone, its largest member, is fitted in the same run as the ratio to go by.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import dmrank

DATA = Path(__file__).parents[2] / "shared" / "data"
SINGLE_LISTS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--with-validation", action="store_true", help="give validation ratings")
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
    print(f"fit {fit:.1f} s, {fit / alone:.1f} times EASE alone ({alone:.1f} s)")
    with tempfile.TemporaryDirectory() as folder:
        path = model.save(Path(folder) / "beer.dmrank")
        print(f"file {path.stat().st_size / 1e6:.0f} MB")
        lists(dmrank.load(path), split.train)


def lists(model: dmrank.Model, train: dmrank.Ratings) -> None:
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
    print(f"one list: median {median:.2f} ms, 95 % {most:.2f} ms")
    started = time.perf_counter()
    rows = sum(len(block) for block in model.recommend_blocks(users, by="taste"))
    print(f"lists of {len(users):,} users: {time.perf_counter() - started:.1f} s, {rows:,} rows")


if __name__ == "__main__":
    main()
