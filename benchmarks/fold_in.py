"""Folding in: how long one user of ten ratings takes, and how good the lists are.

    python -m benchmarks.fold_in [--speed] [--quality] [--iterations 8000] [--record]

Speed: a new user, or item, with ten ratings of eight aspects, folded into models with the sizes of
the paper's TripAdvisor (100,005 users, 17,257 items). Quality, on Yahoo! Movies: 400 users are left
out of training and folded in with their training ratings; NDCG@10 by overall of their validation
ratings, beside the same users trained with all others, and beside popularity. Likewise 150 items:
how often a validation item of them scores above a random item that its user has not rated.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.metrics import NDCG
from dmrank.training.validation import Validator

DATA = Path(__file__).parents[2] / "shared" / "data"
LEFT_OUT_USERS, LEFT_OUT_ITEMS = 400, 150
STUDENT = {"family": "student", "hard_negatives": 5, "covariance": "identity"}


def measure_speed() -> list[dict[str, str]]:
    """Print how long folding in takes, and return it as rows of a table."""
    ratings = dmrank.make_ratings(100_005, 17_257, 1_057_217, seed=0).ratings
    print(f"{ratings}, 10 factors; median and 95th percentile of 200 users with 10 ratings each")
    models: dict[str, dmrank.Model] = {
        "DMR": dmrank.DMR(iterations=20),
        "DMR student, hard negatives, identity": dmrank.DMR(iterations=20, **STUDENT),
        "MBPR": dmrank.MBPR(iterations=20),
        "IALS": dmrank.IALS(factors=10, iterations=1),
    }
    rows = []
    for name, model in models.items():
        model.fit(ratings)
        times: dict[str, list[float]] = {"a user": [], "and a first list": [], "an item": []}
        for seed in range(201):
            user, item = (_ten_ratings(ratings, seed, new) for new in ("user", "item"))
            started = time.perf_counter()
            view = model.fold_in(user)
            times["a user"].append(time.perf_counter() - started)
            view.recommend("new")
            times["and a first list"].append(time.perf_counter() - started)
            started = time.perf_counter()
            model.fold_in(item, of="items")
            times["an item"].append(time.perf_counter() - started)
        shown = {what: _middle_and_high(seconds[1:]) for what, seconds in times.items()}
        told = "   ".join(f"{what} {each}" for what, each in shown.items())
        print(f"{name:40} {told}", flush=True)
        rows.append({"model": name, **shown})
    return rows


def _middle_and_high(seconds: list[float]) -> str:
    middle, high = 1e3 * np.percentile(seconds, [50, 95])
    return f"{middle:.1f} / {high:.1f} ms"


def _ten_ratings(ratings: dmrank.Ratings, seed: int, new: Literal["user", "item"]) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    other, ids = ("item", ratings.items) if new == "user" else ("user", ratings.users)
    known = ids.names(rng.choice(len(ids), 10, replace=False))
    values = rng.integers(1, 6, (10, len(ratings.aspects))).astype(float)
    table = pl.DataFrame({new: ["new"] * 10, other: known})
    return table.with_columns(pl.Series(a, values[:, k]) for k, a in enumerate(ratings.aspects))


def measure_quality(iterations: int) -> list[dict[str, str]]:
    """Print how good lists of folded-in users and items are, and return it as rows of a table."""
    split = dmrank.read_ratings(DATA / "yahoo-movies.parquet", verbose=False).split(seed=0)
    settings = {"iterations": iterations, "evaluate_every": 1_000, "patience": 3, "threads": 1}
    models: dict[str, dmrank.Model] = {
        "DMR": dmrank.DMR(**settings),
        "DMR student, hard negatives, identity": dmrank.DMR(**settings, **STUDENT),
        "MBPR": dmrank.MBPR(**settings),
        "IALS": dmrank.IALS(),
        "EASE": dmrank.EASE(),
    }
    rng = np.random.default_rng(5)
    users = _some(len(split.train.users), LEFT_OUT_USERS, rng)
    items = _some(len(split.train.items), LEFT_OUT_ITEMS, rng)
    popular = dmrank.Popularity().fit(split.train)
    columns = ("users: trained", "users: folded in", "items: trained", "items: folded in")
    print(f"\n{'Yahoo! Movies':40}{''.join(f'{column:>20}' for column in columns)}")
    nothing = float("nan")
    found = [("Popularity", (_ndcg(split, users, popular), nothing, nothing, nothing))]
    for name, model in models.items():
        model.fit(split.train, validation=split.validation)
        of_users = _ndcg(split, users, model), _fold_users(split, users, model)
        of_items = _above_random(split, items, model), _fold_items(split, items, model)
        found.append((name, (*of_users, *of_items)))
        print(f"{name:40}" + "".join(f"{value:20.4f}" for value in found[-1][1]), flush=True)
    return [
        {"model": name}
        | {
            column: "–" if np.isnan(value) else f"{value:.4f}".removeprefix("0")
            for column, value in zip(columns, values, strict=True)
        }
        for name, values in found
    ]


def _some(size: int, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[rng.choice(size, count, replace=False)] = True
    return chosen


def _rows(part: dmrank.Ratings, kept: NDArray[np.bool_]) -> dmrank.Ratings:
    return part.select(np.flatnonzero(kept))


def _fold_users(split: dmrank.Split, users: NDArray[np.bool_], model: dmrank.Model) -> float:
    train, validation = split.train, split.validation
    left_out = users[train.user_codes]
    without = model.clone().fit(
        _rows(train, ~left_out), _rows(validation, ~users[validation.user_codes])
    )
    return _ndcg(split, users, without.fold_in(_rows(train, left_out)))


def _fold_items(split: dmrank.Split, items: NDArray[np.bool_], model: dmrank.Model) -> float:
    train, validation = split.train, split.validation
    left_out = items[train.item_codes]
    without = model.clone().fit(
        _rows(train, ~left_out), _rows(validation, ~items[validation.item_codes])
    )
    try:
        return _above_random(split, items, without.fold_in(_rows(train, left_out), of="items"))
    except dmrank.UnsupportedError:
        return float("nan")


def _ndcg(split: dmrank.Split, users: NDArray[np.bool_], model: dmrank.Model) -> float:
    asked = _rows(split.validation, users[split.validation.user_codes])
    validator = Validator(split.train, asked, NDCG(10), len(split.train.users), 0)
    return validator(model.scorer(model.weights(None)))


def _above_random(split: dmrank.Split, items: NDArray[np.bool_], model: dmrank.Model) -> float:
    """Return how often a validation rating's item is above a random one that is not rated."""
    train, asked = split.train, _rows(split.validation, items[split.validation.item_codes])
    warm = np.flatnonzero(~split.cold_rows(asked))
    users, codes = np.repeat(asked.user_codes[warm], 50), np.repeat(asked.item_codes[warm], 50)
    other = np.random.default_rng(0).integers(len(train.items), size=len(users))
    rated = set(zip(train.user_codes.tolist(), train.item_codes.tolist(), strict=True))
    unrated = np.array(
        [pair not in rated for pair in zip(users.tolist(), other.tolist(), strict=True)]
    )
    scorer = model.scorer(model.weights(None))
    above = scorer.of_pairs(users, codes) > scorer.of_pairs(users, other)
    return float(above[unrated].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--quality", action="store_true")
    add_record_option(parser)
    parser.add_argument("--iterations", type=int, default=8_000)
    arguments = parser.parse_args()
    if arguments.speed or not arguments.quality:
        rows = measure_speed()
        if arguments.record:
            write_record("fold-in", as_called("fold_in"), rows)
    if arguments.quality or not arguments.speed:
        rows = measure_quality(arguments.iterations)
        if arguments.record:
            write_record("fold-in-quality", as_called("fold_in"), rows)


if __name__ == "__main__":
    main()
