"""Full-ranking evaluation at the paper's TripAdvisor size, beside Cornac's.

    pip install cornac
    python -m benchmarks.evaluation [--users 100005 --items 17257 --ratings 1057217]

A model of random factors ranks all items for every test user by each of 8 aspects; the time does
not depend on what factors are. Cornac ranks the same users' items by the same scores, by one aspect
and for a part of the users, for it would take hours: times are per user and aspect. That both find
the same mean average precision is checked. Peak memory is that of the whole process, ratings
included, before Cornac is imported.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections import OrderedDict
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.models import Fitting, Vectors
from dmrank.models.config import Config
from dmrank.training.held_out import HeldOut

METRICS = ("ap", "ndcg@10", "ndcg@50")
FACTORS = 10


class RandomFactors(dmrank.Model):
    """Scores (U_u * V_i) · W_k with random factors."""

    Config = Config

    def learn(self, fitting: Fitting) -> None:
        rng = np.random.default_rng(self.config.seed)
        ratings = fitting.ratings
        sizes = {
            "users": len(ratings.users),
            "items": len(ratings.items),
            "aspects": len(ratings.aspects),
        }
        self.arrays = {
            name: rng.standard_normal((size, FACTORS), dtype=np.float32)
            for name, size in sizes.items()
        }

    def scoring_vectors(self, weights: NDArray[np.float32]) -> Vectors:
        mixed = weights @ self.arrays["aspects"]
        return Vectors(self.arrays["users"] * mixed, self.arrays["items"])


def time_ours(model: RandomFactors, split: dmrank.Split, **options: object) -> tuple[float, float]:
    """Return seconds, and the mean average precision by the primary aspect."""
    started = time.perf_counter()
    report = dmrank.evaluate(model, split, metrics=METRICS, **options)  # type: ignore[arg-type]
    return time.perf_counter() - started, report.mean("RandomFactors", "ap")


def some_users(split: dmrank.Split, users: int) -> dmrank.Split:
    """Keep the test ratings of so many users."""
    held_out = HeldOut.from_ratings(split.train, split.test, also_seen=split.validation)
    chosen = np.random.default_rng(0).choice(held_out.users, size=users, replace=False)
    rows = np.flatnonzero(np.isin(split.test.user_codes, chosen) & ~split.cold_rows(split.test))
    return dmrank.Split(split.train, split.validation, split.test.select(rows))


class Peer:
    """Cornac with the same factors, train, validation and test ratings."""

    def __init__(self, cornac: ModuleType, model: RandomFactors, split: dmrank.Split) -> None:
        vectors = model.scoring_vectors(model.weights(None))
        n_items = len(split.train.items)
        known = np.bincount(split.train.item_codes, minlength=n_items) > 0

        class Scores(cornac.models.Recommender):  # type: ignore[misc, name-defined]
            """Cornac's ranking over our scores; items without a training row come last."""

            def score(self, user_idx: int, item_idx: int | None = None) -> NDArray[np.float32]:
                scores = vectors.items @ vectors.users[user_idx]
                scores = np.where(known, scores, -np.inf)
                return scores if item_idx is None else scores[item_idx]

        names = [
            OrderedDict((n, n) for n in range(size)) for size in (len(split.train.users), n_items)
        ]
        self.parts = [
            cornac.data.Dataset.build(
                list(
                    zip(
                        part.user_codes.tolist(),
                        part.item_codes.tolist(),
                        [1.0] * len(part),
                        strict=True,
                    )
                ),
                global_uid_map=names[0],
                global_iid_map=names[1],
            )
            for part in (split.train, split.validation, split.test)
        ]
        self.model = Scores(name="scores")
        for part in self.parts:
            # Ids are codes already, whatever order the rows come in.
            part.uid_map, part.iid_map = names
        self.model.num_users, self.model.num_items = len(names[0]), len(names[1])
        self.model.uid_map, self.model.iid_map = names
        self.model.is_fitted = True
        self.cornac = cornac

    def run(self) -> tuple[float, float]:
        """Return seconds, and the mean average precision."""
        train, validation, test = self.parts
        metrics = self.cornac.metrics
        started = time.perf_counter()
        means, _ = self.cornac.eval_methods.base_method.ranking_eval(
            self.model,
            [metrics.MAP(), metrics.NDCG(k=10), metrics.NDCG(k=50)],
            train,
            test,
            val_set=validation,
        )
        return time.perf_counter() - started, float(means[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100_005)
    parser.add_argument("--items", type=int, default=17_257)
    parser.add_argument("--ratings", type=int, default=1_057_217)
    parser.add_argument("--peer-users", type=int, default=2_000)
    parser.add_argument("--repeat", type=int, default=3)
    add_record_option(parser)
    arguments = parser.parse_args()
    made = dmrank.make_ratings(arguments.users, arguments.items, arguments.ratings, seed=0)
    split = made.ratings.split(seed=0)
    del made
    model = RandomFactors(seed=1).fit(split.train)
    part = some_users(split, arguments.peer_users)
    primary = [split.train.primary_aspect]
    time_ours(model, part, aspects=primary)  # compiles

    whole = [time_ours(model, split)[0] for _ in range(arguments.repeat)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{split}\n{len(split.train.aspects)} aspects, {', '.join(METRICS)}")
    everything = f"{_seconds(whole)} s"
    print(f"dmrank, everything: {everything}; peak memory {peak:.2f} GB")

    import cornac

    peer = Peer(cornac, model, part)
    ours, theirs = [], []
    for _ in range(arguments.repeat):
        ours.append(time_ours(model, part, aspects=primary))
        theirs.append(peer.run())
    found, expected = ours[0][1], theirs[0][1]
    print(f"one aspect, {arguments.peer_users:,} users: dmrank {_seconds([o[0] for o in ours])} s, "
          f"Cornac {cornac.__version__} {_seconds([t[0] for t in theirs])} s; "
          f"MAP {found:.6f} and {expected:.6f}")  # fmt: skip
    users = len(np.unique(split.test.user_codes))
    per_list = statistics.median(whole) / (users * len(split.train.aspects))
    peer_per_list = statistics.median(t[0] for t in theirs) / arguments.peer_users
    ratio = peer_per_list / per_list
    print(
        f"per list: dmrank (everything) {per_list * 1e6:.1f} µs, "
        f"Cornac {peer_per_list * 1e6:.1f} µs: {ratio:.0f}×"
    )
    if arguments.record:
        one, other = (statistics.median(run[0] for run in runs) for runs in (ours, theirs))
        part = f"one aspect, {arguments.peer_users:,} users"
        cells = [
            ("everything", everything, "", ""),
            (
                "a list",
                f"{per_list * 1e6:.1f} µs",
                f"{peer_per_list * 1e6:.1f} µs",
                f"{ratio:.0f}×",
            ),
            (part, f"{one:.2f} s", f"{other:.2f} s", f"{other / one:.1f}×"),
            ("its mean average precision", f"{found:.6f}", f"{expected:.6f}", ""),
            ("peak memory of the process", f"{peak:.2f} GB", "", ""),
        ]
        rows = [dict(zip(("what", "dmrank", "Cornac", "ratio"), row, strict=True)) for row in cells]
        write_record("evaluation", as_called("evaluation"), rows, ("cornac",))


def _seconds(values: list[float]) -> str:
    return " / ".join(f"{value:.2f}" for value in sorted(values))


if __name__ == "__main__":
    main()
