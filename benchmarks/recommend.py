"""Top-10 lists with seen items left out, beside implicit on the same factors; and an index.

    python -m benchmarks.recommend                   # needs `pip install implicit` beside dmrank
    python -m benchmarks.recommend --index           # exact and approximate, a million items

With hnswlib installed, --index shows its graph on the same vectors as well: arrays alone, without
filters or tables.

Every timing is the median of runs in turns. Independent normal factors are the hard case, without
any structure to use, as no trained model has them; clusters of items with norms that differ are
closer to what is learned.
"""

from __future__ import annotations

import os

# implicit asks for it: its own threads and those of BLAS would get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.answers.vectors import rating_vectors
from dmrank.models import Fitting, Vectors
from dmrank.models.config import Config

FACTORS = 10
LENGTH = 10
REPEATS = 3
PROBED = (0.02, 0.035, 0.05, 0.1)
#: How widely hnswlib searches.
WIDTHS = (20, 40, 80)
_ROW = "{:<44}{:>34}{:>8}"


def timed(runs: dict[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Return the median seconds of each, after runs in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(each) for name, each in seconds.items()}


# Beside implicit.


def compare_with_implicit(
    users: int, items: int, ratings: int, threads: int
) -> list[dict[str, str]]:
    """Print lists a second of both, and return them as rows of a table."""
    data = dmrank.make_ratings(users, items, ratings, seed=0).ratings.compact()
    model = dmrank.IALS(factors=FACTORS, iterations=5, threads=threads, seed=0).fit(data)
    print(f"{data}, {FACTORS} factors, {threads} threads")
    everybody = np.arange(len(data.users), dtype=np.int32)
    names = list(data.users)
    ranker = model.ranker(model.weights(None))
    seen = model.catalogue.seen_by(everybody)
    vectors = rating_vectors(model, None)
    peers = {count: implicit_lists(vectors, data, count) for count in {1, threads}}

    def ours() -> NDArray[np.float32]:
        return ranker.top_n(everybody, LENGTH, seen, None, threads).scores

    same = agreement(ranker.top_n(everybody, LENGTH, seen, None, threads), peers[threads]())
    seconds = timed(
        {
            "dmrank, arrays": ours,
            "dmrank, recommend(): a table with ids": lambda: model.recommend(names, LENGTH),
            **{f"implicit, {count} threads": peer for count, peer in peers.items()},
        }
    )
    best = min(took for name, took in seconds.items() if name.startswith("implicit"))
    rows = [
        (name, f"{len(names) / took:,.0f} lists a second", f"{best / took:.1f}×")
        for name, took in seconds.items()
    ]
    rows += [("places that hold the same item", same, ""), ("one user's list", single(model), "")]
    some = names[:2_000]
    dmr = dmrank.DMR(factors=FACTORS, iterations=500, threads=threads, seed=0).fit(data)
    by_all = timed({"all": lambda: dmr.recommend(some, LENGTH, by="all")})["all"]
    rows.append(('DMR, `by="all"`', f"{len(some) / by_all:,.0f} lists a second", ""))
    for row in rows:
        print(_ROW.format(*row), flush=True)
    return [dict(zip(("what", "found", "ratio"), row, strict=True)) for row in rows]


def implicit_lists(
    vectors: Vectors, data: dmrank.Ratings, threads: int
) -> Callable[[], tuple[NDArray[np.int32], NDArray[np.float32]]]:
    from implicit.cpu.als import AlternatingLeastSquares

    peer = AlternatingLeastSquares(factors=FACTORS, num_threads=threads)
    peer.user_factors = np.ascontiguousarray(vectors.of_users())
    peer.item_factors = np.ascontiguousarray(vectors.items)
    ones = np.ones(len(data), dtype=np.float32)
    pointer = data.user_pointer.astype(np.int32)
    shape = (len(data.users), len(data.items))
    matrix = csr_matrix((ones, data.item_codes.copy(), pointer), shape=shape)
    everybody = np.arange(shape[0])
    return lambda: peer.recommend(everybody, matrix, N=LENGTH, filter_already_liked_items=True)


def agreement(
    ours: tuple[NDArray[np.int32], NDArray[np.float32]],
    theirs: tuple[NDArray[np.int32], NDArray[np.float32]],
) -> str:
    """Return the share of places with the same item; scores may differ in their last digits."""
    difference, largest = np.abs(ours[1] - theirs[1]).max(), np.abs(theirs[1]).max()
    print(f"scores up to {largest:.2g}, the largest difference {difference:.1e}")
    return f"{(ours[0] == theirs[0]).mean():.5%}"


def single(model: dmrank.Model) -> str:
    """Return how long one user waits for a list, as a table, of a mapped model file."""
    names = list(model.users)
    with tempfile.TemporaryDirectory() as folder:
        loaded = dmrank.load(model.save(Path(folder) / "model.dmrank"))
        asked = np.random.default_rng(0).choice(names, size=1_000).tolist()
        loaded.recommend(asked[0], LENGTH)
        seconds = []
        for name in asked:
            started = time.perf_counter()
            loaded.recommend(name, LENGTH)
            seconds.append(time.perf_counter() - started)
    middle, late = np.percentile(seconds, [50, 95]) * 1e3
    return f"{middle:.2f} ms, 95 % within {late:.2f} ms"


# An approximate index.


class GivenFactors(dmrank.Model):
    """Scores by factors that were drawn, not learned."""

    Config = Config
    factors: Vectors

    def learn(self, fitting: Fitting) -> None:  # noqa: ARG002
        self.arrays = {"users": self.factors.users, "items": self.factors.items}

    def scoring_vectors(self, weights: NDArray[np.float32]) -> Vectors:  # noqa: ARG002
        return Vectors(self.arrays["users"], self.arrays["items"])


def normal_factors(users: int, items: int, rng: np.random.Generator) -> Vectors:
    return Vectors(
        rng.standard_normal((users, FACTORS), dtype=np.float32),
        rng.standard_normal((items, FACTORS), dtype=np.float32),
    )


def clustered_factors(users: int, items: int, rng: np.random.Generator) -> Vectors:
    centres = rng.standard_normal((1_000, FACTORS), dtype=np.float32)

    def around(count: int) -> NDArray[np.float32]:
        noise = 0.3 * rng.standard_normal((count, FACTORS), dtype=np.float32)
        return centres[rng.integers(len(centres), size=count)] + noise

    norms = np.exp(0.3 * rng.standard_normal((items, 1), dtype=np.float32))
    return Vectors(around(users), around(items) * norms)


FACTOR_KINDS = {"normal": normal_factors, "clustered": clustered_factors}


def measure_index(kind: str, items: int, threads: int) -> list[dict[str, str]]:
    """Print what an index gains and loses, and return it as rows of a table."""
    rng = np.random.default_rng(0)
    users = items // 10  # so that everybody has seen ten items
    model = GivenFactors(threads=threads)
    model.factors = FACTOR_KINDS[kind](users, items, rng)
    rater = rng.permutation(np.arange(items) % users)
    data = dmrank.Ratings.from_arrays(
        [f"u{code:07}" for code in rater],
        [f"i{code:07}" for code in range(items)],
        rng.integers(1, 6, (items, 1)),
        aspects=["overall"],
    )
    model.fit(data)
    started = time.perf_counter()
    index = model.index()
    built = time.perf_counter() - started
    print(f"\n{kind} factors, {index}, {threads} threads: built in {built:.0f} s")
    method = f"dmrank, built in {built:.0f} s"
    asked = [data.users[int(code)] for code in rng.choice(users, size=1_000, replace=False)]
    exact = model.recommend(asked, LENGTH)["item"].to_numpy().reshape(-1, LENGTH)
    row = "{:>10}{:>10}{:>14}{:>14}{:>9}{:>14}{:>14}{:>9}"
    print(row.format("", "", "1,000 users,", "users/s", "", "one user,", "ms", ""))
    print(row.format("probes", "recall", "exact", "index", "ratio", "exact", "index", "ratio"))
    rows = []
    for share in PROBED:
        index.probes = round(share * index.clusters)
        found = index.recommend(asked, LENGTH)["item"].to_numpy().reshape(-1, LENGTH)
        many = timed(
            {
                "exact": lambda: model.recommend(asked, LENGTH),
                "index": lambda: index.recommend(asked, LENGTH),
            }
        )
        one = timed(
            {
                "exact": lambda: model.recommend(asked[:1], LENGTH),
                "index": lambda: index.recommend(asked[:1], LENGTH),
            },
            repeats=50,
        )
        told = {
            "probes": str(index.probes),
            "recall": f"{recall(exact, found):.3f}",
            **{f"{n} users/s": f"{len(asked) / took:,.0f}" for n, took in many.items()},
            "ratio": f"{many['exact'] / many['index']:.1f}×",
            **{f"one user {n}": f"{1e3 * took:.2f} ms" for n, took in one.items()},
            "ratio of these": f"{one['exact'] / one['index']:.1f}×",
        }
        print(row.format(*told.values()), flush=True)
        rows.append({"factors": kind, "method": method, **told})
    if find_spec("hnswlib"):
        codes = model.catalogue.items.codes(exact.ravel()).reshape(exact.shape)
        queries = model.factors.users[model.catalogue.users.codes(asked)]
        rows += [
            {**dict.fromkeys(rows[0], ""), "factors": kind, **told}
            for told in measure_hnswlib(model.factors.items, queries, codes, threads)
        ]
    return rows


def recall(exact: NDArray[Any], found: NDArray[Any]) -> float:
    shares = [np.isin(one, two).mean() for one, two in zip(exact, found, strict=True)]
    return float(np.mean(shares))


def measure_hnswlib(
    items: NDArray[np.float32],
    queries: NDArray[np.float32],
    exact: NDArray[np.int32],
    threads: int,
) -> list[dict[str, str]]:
    """Return the recall and the speed of a graph, of arrays alone."""
    import hnswlib

    graph = hnswlib.Index("ip", items.shape[1])
    graph.init_index(len(items), M=16, ef_construction=100, random_seed=0)
    graph.set_num_threads(threads)
    started = time.perf_counter()
    graph.add_items(items)
    method = f"hnswlib, arrays alone, built in {time.perf_counter() - started:.0f} s"
    print(method)
    rows = []
    for width in WIDTHS:
        graph.set_ef(width)
        found, _ = graph.knn_query(queries, LENGTH)
        seconds = timed({"graph": lambda: graph.knn_query(queries, LENGTH)})["graph"]
        share = recall(exact, found)
        print(f"    ef={width:<6}recall {share:.3f} {len(queries) / seconds:>10,.0f} users/s")
        rate = f"{len(queries) / seconds:,.0f}"
        rows.append(
            {
                "method": method,
                "probes": f"ef={width}",
                "recall": f"{share:.3f}",
                "index users/s": rate,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100_005)
    parser.add_argument("--items", type=int, help="17,257, or a million with --index")
    parser.add_argument("--ratings", type=int, default=1_057_217)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--index", action="store_true", help="measure the approximate index")
    add_record_option(parser)
    arguments = parser.parse_args()
    if arguments.index:
        name, packages = "index", ("hnswlib",) if find_spec("hnswlib") else ()
        items = arguments.items or 1_000_000
        rows = [
            row for kind in FACTOR_KINDS for row in measure_index(kind, items, arguments.threads)
        ]
    else:
        name, packages = "lists", ("implicit",)
        rows = compare_with_implicit(
            arguments.users, arguments.items or 17_257, arguments.ratings, arguments.threads
        )
    if arguments.record:
        write_record(name, as_called("recommend"), rows, packages)


if __name__ == "__main__":
    main()
