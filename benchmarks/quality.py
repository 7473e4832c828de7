"""How well DMR ranks the real files: tuned on validation, test looked at once.

    python -m benchmarks.quality [--files yahoo-movies …] [--iterations 20000] [--synthetic]

70/15/15 split, full ranking by overall: NDCG@10, NDCG@50, and accuracy on rated test pairs over all
aspects with a 95 % bootstrap interval over users. `--synthetic` instead shows how learned
correlations follow planted ones as data grows.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dmrank
from dmrank.directional.packing import unpack
from dmrank.evaluation import OrderPairs, bootstrap_interval, rated_pairs
from dmrank.metrics import NDCG
from dmrank.training.validation import Validator

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "beeradvocate", "tripadvisor")
GRID = {"regularization": (0.001, 0.003, 0.01, 0.03), "learning_rate": (0.03, 0.1)}
VARIANTS = ("identity", "shared", "personalized")
TABLE = "{:24}{:>9}{:>9}{:>9}   {}"


def tune(split: dmrank.Split, fixed: dict[str, object], iterations: int) -> dmrank.DMR:
    """Return the model with the best validation value over the grid."""
    best: tuple[float, dmrank.DMR] | None = None
    for values in itertools.product(*GRID.values()):
        chosen = dict(zip(GRID, values, strict=True))
        model = dmrank.DMR(**{"iterations": iterations, **fixed, **chosen})
        model.fit(split.train, validation=split.validation)
        value = max(model.history.validation)
        if best is None or value > best[0]:
            best = (value, model)
    assert best is not None
    return best[1]


def evaluate_file(name: str, iterations: int) -> None:
    ratings = dmrank.read_ratings(DATA / f"{name}.parquet", verbose=False)
    split = ratings.split(seed=0)
    pairs = rated_pairs(split)
    print(f"\n{name}: {ratings}\n{len(pairs):,} rated test pairs")
    print(TABLE.format("model", "ndcg@10", "ndcg@50", "pooled", "rated pairs, per user"))
    values = [f"{value:.4f}" for value in _ndcg(split, dmrank.Popularity().fit(split.train))]
    print(TABLE.format("popularity", *values, "–", ""))
    per_user: dict[str, NDArray[np.float64]] = {}
    for covariance in VARIANTS:
        started = time.perf_counter()
        fixed: dict[str, object] = {"covariance": covariance, "family": "gaussian", "margin": 0.2}
        model = tune(split, fixed, iterations)
        accuracy = pairs.accuracy(model)
        per_user[covariance] = accuracy.per_user
        values = [f"{value:.4f}" for value in _ndcg(split, model)]
        low, high = bootstrap_interval(accuracy.per_user)
        print(
            TABLE.format(
                f"DMR {covariance}", *values, f"{accuracy.pooled:.4f}",
                f"{accuracy.mean:.4f} [{low:.4f}, {high:.4f}]",
            ),
            f"({_changes(model)}; {time.perf_counter() - started:.0f} s)",
            flush=True,
        )  # fmt: skip
    difference = per_user["personalized"] - per_user["identity"]
    low, high = bootstrap_interval(difference)
    print(f"personalized − identity: {np.nanmean(difference):+.4f} [{low:+.4f}, {high:+.4f}]")
    _print_item_means(split, pairs)


def _print_item_means(split: dmrank.Split, pairs: OrderPairs) -> None:
    accuracy = pairs.accuracy(dmrank.ItemMean().fit(split.train))
    print(f"item means on rated pairs: pooled {accuracy.pooled:.4f}, per user {accuracy.mean:.4f}")


def _changes(model: dmrank.DMR) -> str:
    return ", ".join(f"{name} {model.get_params()[name]:g}" for name in GRID)


def _ndcg(split: dmrank.Split, model: dmrank.Model) -> list[float]:
    scorer = model.scorer(model.weights(None))
    most = len(split.train.users)
    return [
        Validator(split.train, split.test, NDCG(k), most, 0, split.validation)(scorer)
        for k in (10, 50)
    ]


def study_synthetic() -> None:
    """Show how learned correlations follow planted ones as users and items get more ratings."""
    print("correlation of learned with planted correlations, K = 4")
    print(f"{'ratings per user':>18}{'per item':>10}{'Σ_u':>8}{'Σ_i':>8}{'Σ_ui':>8}")
    for users, items, ratings in (
        (300, 100, 5_000), (300, 100, 20_000), (300, 300, 60_000), (600, 600, 240_000),
    ):  # fmt: skip
        synthetic = dmrank.make_ratings(
            users, items, ratings, taste=0.0, concentration=14,
            aspects=["overall", "a", "b", "c"], seed=6,
        )  # fmt: skip
        model = dmrank.DMR(iterations=5_000, rated_share=1.0, prior_strength=6)
        model.fit(synthetic.ratings)
        truth, size = synthetic.truth, 4
        by_user = unpack(model.arrays["user_covariances"], size)
        by_item = unpack(model.arrays["item_covariances"], size)
        u, i = synthetic.ratings.user_codes, synthetic.ratings.item_codes
        pairs = (
            (by_user, truth.user_covariances),
            (by_item, truth.item_covariances),
            ((by_user[u] + by_item[i]) / 2, truth.covariance(u, i)),
        )
        found = "".join(f"{_agreement(*pair):8.2f}" for pair in pairs)
        print(f"{ratings / users:18.0f}{ratings / items:10.0f}{found}", flush=True)


def _agreement(learned: NDArray[np.float32], planted: NDArray[np.float32]) -> float:
    off = ~np.eye(learned.shape[1], dtype=bool)
    one, other = (_correlations(matrices)[:, off].ravel() for matrices in (learned, planted))
    return float(np.corrcoef(one, other)[0, 1])


def _correlations(covariances: NDArray[np.float32]) -> NDArray[np.float32]:
    deviation = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / (deviation[:, :, None] * deviation[:, None, :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--synthetic", action="store_true")
    arguments = parser.parse_args()
    if arguments.synthetic:
        study_synthetic()
        return
    for name in arguments.files:
        evaluate_file(name, arguments.iterations)


if __name__ == "__main__":
    main()
