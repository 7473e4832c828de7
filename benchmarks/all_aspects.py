"""One list for all aspects: by="all" beside ranking by overall and by the plain mean of aspects.

    python -m benchmarks.all_aspects [--files ../shared/data/yahoo-movies.parquet …]
                                     [--record]

DMR, validation ratings, NDCG@10 of one list per user, judged by every aspect: the mean over
aspects, the aspect that comes off worst, and each user's own worst aspect. An item without a rating
on an aspect is no candidate by it. Two questions:

- catalogue: all items that the user has not rated in training (DMR as it is by default);
- candidates: only the items that the user rated in validation, put into order as the second stage
  of a two-stage system would (DMR that learned from rated pairs, with item offsets).

The difference to the plain mean of aspects, averaged over aspects, has a 95 % bootstrap interval.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.metrics import NDCG
from dmrank.training.held_out import HeldOut

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = [DATA / f"{name}.parquet" for name in ("yahoo-movies", "tripadvisor")]
LENGTH = 10
COLUMNS = (
    "question", "one list", "mean", "worst", "user's own worst", "mean − plain mean, 95 % interval"
)  # fmt: skip
_ROW = "{:<12}{:<22}{:>9}{:>9}{:>18}   {}"


def judged(held_out: HeldOut, lists: pl.DataFrame, model: dmrank.Model) -> NDArray[np.float64]:
    """Return NDCG@10 of each user by each aspect, NaN for an aspect without a held-out rating."""
    users, items = model.catalogue.users, model.catalogue.items
    pointer, tests = held_out.items
    n_items = len(items)
    owner = np.repeat(held_out.users, np.diff(pointer)).astype(np.int64)
    keys = users.codes(lists["user"]).astype(np.int64) * n_items + items.codes(lists["item"])
    place = dict(zip(keys.tolist(), lists["rank"].to_list(), strict=True))
    beyond = n_items + 1
    ranks = np.array([place.get(key, beyond) for key in (owner * n_items + tests).tolist()])
    values = np.empty((len(held_out.users), len(held_out.aspects)))
    for k, aspect in enumerate(held_out.aspects):
        gains = held_out.query(aspect).gains
        known = ~np.isnan(gains)
        values[:, k] = NDCG(LENGTH)(
            ranks_among(known, ranks, pointer), np.nan_to_num(gains), pointer
        )
        any_known = np.add.reduceat(known, pointer[:-1]) > 0
        values[~any_known, k] = np.nan
    return values


def ranks_among(
    known: NDArray[np.bool_], ranks: NDArray[np.int64], pointer: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return ranks without test items that have no rating on the aspect; those get 0."""
    owner = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))
    order = np.lexsort((ranks, owner))
    left_out = np.cumsum(~known[order])
    before = np.concatenate([[0], left_out])[pointer[:-1]]
    moved = ranks.copy()
    moved[order] -= left_out - before[owner]
    return np.where(known, moved, 0)


def measured_rows(
    question: str, model: dmrank.Model, held_out: HeldOut, candidates: dict[str, list[str]] | None
) -> list[dict[str, str]]:
    """Print what each list is worth, and return the rows."""
    names = model.catalogue.users.names(held_out.users).to_list()
    aspects = model.catalogue.aspects
    rankings = {
        f"by {model.catalogue.primary_aspect}": None,
        "by the plain mean": dict.fromkeys(aspects, 1.0),
        'by="all"': "all",
    }
    values = {}
    for title, by in rankings.items():
        lists = model.recommend(names, LENGTH, by=by, candidates=candidates)
        values[title] = judged(held_out, lists, model)
    plain, rows = np.nanmean(values["by the plain mean"], axis=1), []
    for title, each in values.items():
        of_aspects = np.nanmean(each, axis=0)
        worst = np.nanmin(each, axis=1).mean()
        difference = interval(np.nanmean(each, axis=1) - plain)
        cells = (f"{of_aspects.mean():.4f}", f"{of_aspects.min():.4f}", f"{worst:.4f}", difference)
        print(_ROW.format(question, title, *cells), flush=True)
        rows.append(dict(zip(COLUMNS, (question, title, *cells), strict=True)))
    return rows


def interval(differences: NDArray[np.float64]) -> str:
    if not differences.any():
        return ""
    rows = np.random.default_rng(0).integers(len(differences), size=(2_000, len(differences)))
    low, high = np.percentile(differences[rows].mean(axis=1), [2.5, 97.5])
    return f"{differences.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def rated_candidates(model: dmrank.Model, held_out: HeldOut) -> dict[str, list[str]]:
    names = model.catalogue.users.names(held_out.users)
    return {
        name: model.catalogue.items.names(held_out.items.of(row, row + 1).items).to_list()
        for row, name in enumerate(names)
    }


def compare(path: Path, iterations: int) -> list[dict[str, str]]:
    """Ask both questions of a file."""
    split = dmrank.read_ratings(path, verbose=False).k_core(5).split(seed=0)
    print(f"\n{path.stem}: {split.train}")
    print(_ROW.format(*COLUMNS))
    common = {"iterations": iterations, "evaluate_every": iterations // 10, "seed": 0}
    held_out = HeldOut.from_ratings(split.train, split.validation)
    model = dmrank.DMR(**common).fit(split.train, validation=split.validation)
    rows = measured_rows("catalogue", model, held_out, None)
    # Of one item alone every order is right.
    several = np.diff(held_out.items.pointer) > 1
    held_out = held_out.select(several, np.ones(len(held_out.values), dtype=np.bool_))
    model = dmrank.DMR(**common, rated_share=1.0, item_offsets=True).fit(split.train)
    return rows + measured_rows("candidates", model, held_out, rated_candidates(model, held_out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", type=Path, default=FILES)
    parser.add_argument("--iterations", type=int, default=4_000)
    add_record_option(parser)
    arguments = parser.parse_args()
    for path in arguments.files:
        rows = compare(path, arguments.iterations)
        if arguments.record:
            write_record(f"all-aspects-{path.stem}", as_called("all_aspects"), rows)


if __name__ == "__main__":
    main()
