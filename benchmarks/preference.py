"""Which of two items a user likes better, and on which aspect: MixedEffects beside the others.

    python -m benchmarks.preference [--files yahoo-movies …] [--seeds 1 2 3 4 5] [--out all.json]
                                    [--record]
    python -m benchmarks.preference --large

Five splits of each file (seed 0 chose the recipe). Of every model: accuracy of the order of rated
pairs and of the contrast of two aspects (raw scores), per user and pooled; log-loss of the orders'
probabilities and RMSE of completed ratings where a model has covariances, beside a regression on
the given aspects. A user's value is the mean over splits; differences to MixedEffects have 95 %
bootstrap intervals over users. Models that predict ratings are not stopped early: NDCG says nothing
of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dmrank
from benchmarks.complete import by_dmr, by_regression, hide, rmse, warm
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import bootstrap_interval, order_probability, rated_pairs

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
OURS = "MixedEffects"
#: What is asked of a model, and the title of its column.
KEYS = {
    "pairs": "pairs",
    "contrast": "contrast",
    "log-loss": "log-loss",
    "rmse, overall and 2": "RMSE, 2 others",
    "rmse, overall and 0": "RMSE, overall alone",
}
#: Of these the largest is the best.
HIGHEST = ("pairs", "contrast")
GAINS = {"pairs per user": "gain, pairs", "contrast per user": "gain, contrast"}

MODELS: dict[str, Callable[[], dmrank.Model]] = {
    "ItemMean": dmrank.ItemMean,
    "PTF": lambda: dmrank.PTF(evaluate_every=30),
    "EFM": lambda: dmrank.EFM(evaluate_every=200),
    "Ex-SAE": lambda: dmrank.ExSAE(iterations=1_000, evaluate_every=1_000),
    "DMR": lambda: dmrank.DMR(iterations=5_000, patience=4),
    "DMR-R": lambda: dmrank.DMR(
        rated_share=1.0, item_offsets=True, regularization=0.1, iterations=1_500,
        evaluate_every=1_500, first_look=None,
    ),
    "mixed effects alone": lambda: dmrank.MixedEffects(personal_strength=0),
    OURS: dmrank.MixedEffects,
}  # fmt: skip


def by_user(values: NDArray[np.float64], codes: NDArray[np.integer], users: int) -> list[float]:
    table = np.full(users, np.nan)
    table[codes] = values
    return table.tolist()


def measure(split: dmrank.Split, name: str) -> dict[str, Any]:
    """Fit one model and ask it everything."""
    started = time.perf_counter()
    model = MODELS[name]().fit(split.train, validation=split.validation)
    found: dict[str, Any] = {"seconds": time.perf_counter() - started}
    pairs, users = rated_pairs(split), len(split.train.users)
    accuracy, contrast = pairs.accuracy(model), pairs.contrast(model)
    found |= {"pairs": accuracy.pooled, "contrast": contrast.pooled}
    found["pairs per user"] = by_user(accuracy.per_user, pairs.user_codes, users)
    found["contrast per user"] = by_user(contrast.per_user, pairs.user_codes, users)
    anyone = np.zeros(1, dtype=np.int32)
    if model.covariances(anyone, anyone) is None:
        return found
    ordered = np.nan_to_num(pairs.observed) != 0
    first = order_probability(model, pairs)
    said = np.where(pairs.observed > 0, first, 1 - first)[ordered]
    found["log-loss"] = float(-np.log(np.maximum(said, 1e-12)).mean())
    found["said"] = float(np.maximum(first, 1 - first)[ordered].mean())
    test = warm(split, split.test)
    for others in (2, 0):
        hidden = hide(test.values, others)
        found[f"rmse, overall and {others}"] = rmse(by_dmr(model, test, hidden), hidden.truth)
    return found


def regression(split: dmrank.Split) -> dict[str, Any]:
    test = warm(split, split.test)
    found = {}
    for others in (2, 0):
        hidden = hide(test.values, others)
        answer = by_regression(split.train, hidden)
        found[f"rmse, overall and {others}"] = rmse(answer, hidden.truth)
    return found


def summarise(results: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Print means over splits, and differences to MixedEffects over users; return them as rows."""
    row = "{:<22}{:>8}{:>9}{:>10}{:>16}{:>21}   {:<28}{:<28}{:>8}"
    print(row.format("", *KEYS.values(), *GAINS.values(), "s"))
    rows = []
    for name, each in results.items():
        cells = [
            f"{np.mean([one[key] for one in each]):.4f}" if key in each[0] else "–" for key in KEYS
        ]
        cells += [_gain(results, name, key) for key in GAINS]
        seconds = [one["seconds"] for one in each if "seconds" in one]
        took = f"{np.mean(seconds):.1f}" if seconds else "–"
        print(row.format(name, *cells, took), flush=True)
        titles = ("model", *KEYS.values(), *GAINS.values())
        highest = {
            key: float(np.mean([one[key] for one in each])) for key in HIGHEST if key in each[0]
        }
        rows.append(dict(zip(titles, (name, *cells), strict=True)) | highest)
    return rows


def _gain(results: dict[str, list[dict[str, Any]]], name: str, key: str) -> str:
    if name == OURS or key not in results[name][0] or OURS not in results:
        return ""
    with warnings.catch_warnings():  # a user without a pair in any split
        warnings.simplefilter("ignore", RuntimeWarning)
        ours, theirs = (
            np.nanmean([one[key] for one in results[each]], axis=0) for each in (OURS, name)
        )
    low, high = bootstrap_interval(ours - theirs)
    return f"{np.nanmean(ours - theirs):+.4f} [{low:+.4f}, {high:+.4f}]"


def large() -> None:
    """Print what a fit of ten million synthetic ratings takes."""
    ratings = dmrank.make_ratings(500_000, 50_000, 10_000_000, seed=1).ratings
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    started = time.perf_counter()
    dmrank.MixedEffects().fit(ratings)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{ratings}: fit {seconds:.0f} s, peak {peak:.1f} GB, {before:.1f} GB before it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--out", type=Path, help="where to keep every value, as json")
    add_record_option(parser)
    parser.add_argument("--large", action="store_true", help="time ten million ratings instead")
    arguments = parser.parse_args()
    if arguments.large:
        large()
        return
    kept = {}
    for file in arguments.files:
        ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.models}
        results["regression"] = []
        for seed in arguments.seeds:
            split = ratings.split(seed=seed)
            results["regression"].append(regression(split))
            for name in arguments.models:
                results[name].append(measure(split, name))
        print(f"\n{file}: {ratings}; seeds {arguments.seeds}")
        rows = summarise(results)
        if arguments.record:
            write_record(f"preference-{file}", as_called("preference"), rows)
        kept[file] = results
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
