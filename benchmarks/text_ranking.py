"""Is it worth extracting aspects from text? DMR trained on extracted ratings, and on overall alone.

    python -m benchmarks.text_ranking [--seeds 5] [--record]

Hotel reviews with text, overall and given aspect ratings, 3-core. Aspect ratings are extracted from
the training reviews (polarity is learned from them, too); given aspect ratings are used for nothing
but judging test reviews: NDCG@10 when ranking by an aspect, averaged over aspects, and the share of
rated pairs in the right order. Trained on overall alone, a model ranks by overall whatever the
aspect. For pairs, regularization and iterations are chosen on validation ratings of the same kind
as the training ratings. DMR trained on the given ratings shows how far extraction could go. Means
and 95 % intervals (Student's t) over seeds of split and model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import rated_pairs
from dmrank.metrics import NDCG, pair_accuracy
from dmrank.training.held_out import HeldOut

DATA = Path(__file__).parents[2] / "shared" / "data"
ASPECTS = ("value", "rooms", "location", "cleanliness", "service")
#: For top-N lists.
LISTS = {"nonnegative": True, "learning_rate": 0.03, "iterations": 10_000}
#: For the order of rated pairs (docs/experiments.md, DMR-R), and what is chosen on validation.
PAIRS = {"rated_share": 1.0, "item_offsets": True}
CHOICES = list(product((0.1, 0.3), (1_500, 4_000)))


@dataclass(frozen=True)
class Problem:
    """One split: given ratings, and training ratings of each kind with the same ids."""

    split: dmrank.Split
    kinds: dict[str, tuple[dmrank.Ratings, dmrank.Ratings]]

    @classmethod
    def of(cls, reviews: pl.DataFrame, seed: int) -> Problem:
        """Split the given ratings, and extract those of training and validation reviews."""
        given = dmrank.read_ratings(
            reviews.drop("text", "title"), aspects=["overall", *ASPECTS], verbose=False
        ).k_core(3)
        split = given.split(seed=seed)
        make: dict[str, Callable[[dmrank.Ratings], dmrank.Ratings]] = {
            "given": lambda part: part,
            "extracted": lambda part: _extracted(reviews, part, fill=False),
            "extracted, filled": lambda part: _extracted(reviews, part, fill=True),
            "overall": _overall,
        }
        kinds = {name: (of(split.train), of(split.validation)) for name, of in make.items()}
        return cls(split, kinds)


def _extracted(reviews: pl.DataFrame, part: dmrank.Ratings, *, fill: bool) -> dmrank.Ratings:
    """Extract the aspects of the reviews behind some ratings; same ids and aspects."""
    rows = part.to_polars().select("user", "item")
    found = dmrank.extract_aspects(
        reviews.join(rows, on=["user", "item"], how="semi"),
        overall="overall",
        aspects="hotels",
        fill=fill,
        verbose=False,
    )
    columns = [found.aspects.index(name) for name in ("overall", *ASPECTS)]
    return dmrank.Ratings.from_codes(
        part.users,
        part.items,
        part.users.codes(found.users)[found.user_codes],
        part.items.codes(found.items)[found.item_codes],
        found.values[:, columns],
        aspects=("overall", *ASPECTS),
        scale=part.scale,
    )


def _overall(part: dmrank.Ratings) -> dmrank.Ratings:
    return dmrank.Ratings.from_codes(
        part.users,
        part.items,
        part.user_codes,
        part.item_codes,
        part.values[:, [0]],
        aspects=("overall",),
        scale=part.scale[[0]],
    )


def ndcg(problem: Problem, model: dmrank.Model) -> float:
    """Return NDCG@10 averaged over the given aspects of test items."""
    split = problem.split
    held_out = HeldOut.from_ratings(split.train, split.test, also_seen=split.validation)
    values = []
    for name in ASPECTS:
        by = name if name in model.catalogue.aspects else "overall"
        query = held_out.query(name)
        ranks = model.scorer(model.weights(by)).ranks(held_out.users, query, threads=None)
        gains = np.nan_to_num(query.gains)
        values.append(np.nanmean(NDCG(10)(ranks, gains, held_out.items.pointer)))
    return float(np.mean(values))


def right_orders(problem: Problem, model: dmrank.Model) -> float:
    """Return the share of given orders of two test items that the model has, over the aspects."""
    pairs = rated_pairs(problem.split)
    scores = [model.score_pairs(pairs.users, items) for items in (pairs.first, pairs.second)]
    predicted = (scores[0] - scores[1]).astype(np.float64)
    if predicted.shape[1] == 1:
        predicted = np.repeat(predicted, pairs.observed.shape[1], axis=1)
    return pair_accuracy(pairs.observed[:, 1:], predicted[:, 1:], pairs.pointer).pooled


def fit_for_lists(train: dmrank.Ratings, validation: dmrank.Ratings, seed: int) -> dmrank.Model:
    return dmrank.DMR(**LISTS, seed=seed).fit(train, validation=validation)


def fit_for_pairs(train: dmrank.Ratings, validation: dmrank.Ratings, seed: int) -> dmrank.Model:
    pairs = rated_pairs(dmrank.Split(train, validation, validation))
    models = [
        dmrank.DMR(**PAIRS, regularization=strength, iterations=iterations, seed=seed).fit(train)
        for strength, iterations in CHOICES
    ]
    return max(models, key=lambda model: pairs.accuracy(model).pooled)


FITS = {"lists": fit_for_lists, "pairs": fit_for_pairs}
JUDGES: dict[str, Callable[[Problem, dmrank.Model], float]] = {"lists": ndcg, "pairs": right_orders}
TITLES = {"lists": "NDCG@10, mean over aspects", "pairs": "rated pairs in the right order"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    add_record_option(parser)
    parser.add_argument("--reviews", type=Path, default=DATA / "tripadvisor-reviews.parquet")
    arguments = parser.parse_args()
    reviews = pl.read_parquet(arguments.reviews).unique(["user", "item"], maintain_order=True)
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(arguments.seeds):
        problem = Problem.of(reviews, seed)
        print(f"seed {seed}: {problem.split}", flush=True)
        for task, judge in JUDGES.items():
            for kind, (train, validation) in problem.kinds.items():
                model = FITS[task](train, validation, seed)
                found.setdefault((task, kind), []).append(judge(problem, model))
            means = dmrank.ItemMean().fit(problem.split.train)
            found.setdefault((task, "item means, given"), []).append(judge(problem, means))
    rows = summarise(found)
    if arguments.record:
        write_record("text-ranking", as_called("text_ranking"), rows)


def summarise(found: dict[tuple[str, str], list[float]]) -> list[dict[str, str]]:
    """Print means and intervals over seeds, and return them as rows."""
    kinds = list(dict.fromkeys(kind for _, kind in found))
    rows = {kind: {"trained on": kind} for kind in kinds}
    for task, title in TITLES.items():
        print(f"\n{title}")
        values = {kind: np.array(found[task, kind]) for kind in kinds}
        for kind in ("extracted", "extracted, filled"):
            values[f"{kind} − overall"] = values[kind] - values["overall"]
        for kind, each in values.items():
            shown = _interval(each, "+" if "−" in kind else "")
            print(f"  {kind:28} {shown}")
            rows.setdefault(kind, {"trained on": kind})[title] = shown
    return list(rows.values())


def _interval(values: NDArray[np.float64], sign: str) -> str:
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    mean = values.mean()
    return f"{mean:{sign}.4f} [{mean - half:{sign}.4f}, {mean + half:{sign}.4f}]"


if __name__ == "__main__":
    main()
