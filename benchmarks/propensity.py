"""Exposure bias: DMR whose pairs count by the inverse of how likely their item was to be met.

    python -m benchmarks.propensity --planted [--seeds 1 2 3] [--record]
    python -m benchmarks.propensity --files yahoo-movies tripadvisor beeradvocate [--record]

Planted: `make_ratings` draws what users meet by popularity, which says nothing of taste, and what
they choose of that by taste. The truth of a list is the recall of choices that popularity does not
hide: Σ_i chosen_ui [rank_ui ≤ 10] / Σ_i chosen_ui over all unrated items, with chosen the planted
probability of choosing what was met. Beside it: what test ratings say, plainly; self-normalised
with the planted propensities, per user and over all ratings together; and with those by popularity,
which a real file has. Means over the seeds, the last with its standard error.

Files: fitted on train of seed 1, judged on validation, which also stops the training; with one
unrated item to a pair, and with the hardest of five.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.data.synthetic import HIGH, LOW, Synthetic
from dmrank.metrics import UnbiasedRecall
from dmrank.support.arrays import Float32s, Floats, Int64s
from dmrank.training.held_out import HeldOut

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
HOW: dict[str, dict[str, Any]] = {
    "none": {},
    "popularity": {"propensity": "popularity"},
    "ease": {"propensity": "ease"},
}
OF_FILES = {"factors": 40, "regularization": 0.02, "popularity_start": 0.0, "patience": 4} | {
    "family": "student"
}
OF_PLANTED = {"iterations": 6_000, "factors": 20, "regularization": 0.03, "popularity_start": 0.0}
TASTE = 1.5
METRICS = ("ndcg@10", "recall@10", "unbiased-recall@10", "coverage@10")
TITLES = ("NDCG@10", "recall@10", "unbiased recall@10", "coverage@10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--files", nargs="*", choices=FILES, default=[])
    parser.add_argument("--threads", type=int)
    add_record_option(parser)
    options = parser.parse_args()
    if options.planted:
        rows = planted(options.seeds, options.threads)
        if options.record:
            write_record("propensity-planted", as_called("propensity"), rows)
    for file in options.files:
        rows = real(file, options.threads)
        if options.record:
            write_record(f"propensity-{file}", as_called("propensity"), rows)


def planted(seeds: list[int], threads: int | None) -> list[dict[str, str]]:
    """Print the truth of lists, and what three estimators say of it; return the rows."""
    columns = ("truth", "plain", "planted θ, per user", "planted θ, together", "popularity θ")
    values: dict[str, list[list[float]]] = {}
    for seed in seeds:
        synthetic = dmrank.make_ratings(2_000, 1_000, 60_000, taste=TASTE, seed=seed)
        split = synthetic.ratings.split(seed=seed)
        for name, model in contenders(synthetic.truth.popularity, threads):
            fitted = model.fit(split.train)
            values.setdefault(name, []).append(recalls(fitted, split, synthetic))
    titles = ("model", *columns, "truth, against DMR")
    print(" | ".join(titles))
    unweighted, rows = np.array(values["DMR"])[:, 0], []
    for name, of_seeds in values.items():
        change = np.array(of_seeds)[:, 0] - unweighted
        error = change.std(ddof=1) / np.sqrt(len(seeds))
        shown = [f"{mean:.4f}" for mean in np.mean(of_seeds, axis=0)]
        against = f"{change.mean():+.4f} ± {error:.4f}" if change.any() else "–"
        rows.append(dict(zip(titles, (name, *shown, against), strict=True)))
        print(" | ".join(rows[-1].values()))
    return rows


class Met(dmrank.Model):
    """Knows what is met, and nothing else."""

    Config = dmrank.Config
    #: The planted popularity.
    popularity: ClassVar[Floats]

    def learn(self, fitting: dmrank.Fitting) -> None:  # noqa: ARG002
        self.arrays = {"items": self.popularity.astype(np.float32)[:, None]}

    def scoring_vectors(self, weights: Float32s) -> dmrank.Vectors:  # noqa: ARG002
        users = np.ones((len(self.catalogue.users), 1), np.float32)
        return dmrank.Vectors(users, self.arrays["items"])


def contenders(popularity: Floats, threads: int | None) -> Iterator[tuple[str, dmrank.Model]]:
    yield "Popularity", dmrank.Popularity()
    yield "EASE", dmrank.EASE(threads=threads)
    Met.popularity = popularity
    for name, how in (HOW | {"what is planted": {"propensity": Met()}}).items():
        # No validation: that by which training would stop has the bias, too.
        yield f"DMR, {name}" if how else "DMR", dmrank.DMR(threads=threads, **OF_PLANTED, **how)


def recalls(model: dmrank.Model, split: dmrank.Split, synthetic: Synthetic) -> list[float]:
    """Return the true recall@10 of a model's lists, and three estimates of it."""
    truth, train = synthetic.truth, split.train
    held_out = HeldOut.from_ratings(train, split.test, also_seen=split.validation)
    ranks = ranks_of_all(model, held_out)
    item = held_out.items.items
    own = ranks[np.repeat(np.arange(len(held_out.users)), np.diff(held_out.items.pointer)), item]
    met = truth.popularity / truth.popularity.max()
    flat = (own, np.ones(len(own)), held_out.items.pointer)
    unbiased = UnbiasedRecall(10)
    return [
        true_recall(ranks, held_out, synthetic),
        float(unbiased(*flat).mean()),
        float(unbiased(*flat, propensities=met[item]).mean()),
        float(np.average(own <= 10, weights=1 / met[item])),
        float(unbiased(*flat, propensities=held_out.propensities).mean()),
    ]


def ranks_of_all(model: dmrank.Model, held_out: HeldOut) -> Int64s:
    """Return the rank of every candidate in every list; 0 for what is none."""
    weights = model.weights("overall")
    scores = model.score_block(held_out.users, weights).astype(np.float64)
    scores[:, ~held_out.candidates] = -np.inf
    pointer, items = held_out.excluded
    rows = np.repeat(np.arange(len(held_out.users)), np.diff(pointer))
    scores[rows, items] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1)[None], axis=1)
    ranks[np.isneginf(scores)] = 0
    return ranks


def true_recall(ranks: Int64s, held_out: HeldOut, synthetic: Synthetic) -> float:
    truth, items = synthetic.truth, np.arange(ranks.shape[1])
    overall = np.array([truth.mean(np.array([u]), items)[:, 0] for u in held_out.users])
    chosen = np.exp(TASTE * (np.clip(overall, LOW, HIGH) - HIGH)) * (ranks > 0)
    found = np.where(ranks <= 10, chosen, 0).sum(axis=1)
    return float(np.mean(found / chosen.sum(axis=1)))


def real(file: str, threads: int | None) -> list[dict[str, Any]]:
    """Print what propensities do to lists of a file, and return the rows."""
    whole = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False).split(seed=1)
    # What is held out is not to be recommended: nothing is, but what is judged.
    nothing = whole.validation.select(np.zeros(len(whole.validation), dtype=np.bool_))
    split = dmrank.Split(whole.train, nothing, whole.validation)
    rows = []
    for hard, (name, how) in product((1, 5), HOW.items()):
        model = dmrank.DMR(hard_negatives=hard, threads=threads, **OF_FILES, **how)
        started = time.perf_counter()
        model.fit(split.train, validation=split.test)
        seconds = time.perf_counter() - started
        report = dmrank.evaluate({"DMR": model}, split, metrics=METRICS, aspects=["overall"])
        found = {metric: report.mean("DMR", metric) for metric in METRICS}
        shown = " | ".join(f"{value:.4f}" for value in found.values())
        print(f"{file} | {hard} | {name} | {shown} | {seconds:.0f} s", flush=True)
        titled = dict(zip(TITLES, found.values(), strict=True))
        rows.append({"hard negatives": hard, "propensity": name, **titled})
    return rows


if __name__ == "__main__":
    main()
