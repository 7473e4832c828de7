"""What the weights of a blend are learned by: losses, margins, families, members, LambdaMART.

    python -m benchmarks.blend_variants [--files yahoo-movies tripadvisor] [--seed 1] [--record]

Chosen on validation alone: of the training part of the split, 18 % is held out to stop members and
to learn weights from, and the validation part of the split is what is judged. Members are fitted
once for each file. LambdaMART takes part if LightGBM is installed; dmrank does not need it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.directional.families import Family, Gaussian, Student
from dmrank.fitted.scorers import Blocks, Scorer
from dmrank.metrics import parse_metric
from dmrank.models.kinds.composite import halves
from dmrank.models.kinds.exposure import Exposure
from dmrank.models.kinds.weighing import learn_exposure
from dmrank.training.blending.contests import features
from dmrank.training.blending.weights import Loss
from dmrank.training.held_out import HeldOut
from dmrank.training.validation import Validator

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
#: Metrics, and how their columns are called.
METRICS = {"ap": "MAP", "ndcg@10": "NDCG@10", "ndcg@50": "NDCG@50"}
MEMBERS: dict[str, dmrank.Model] = {
    "ease": dmrank.EASE(),
    "plain ease": dmrank.EASE(activity_exponent=0.0, dropout=0.0),
    "ials": dmrank.IALS(),
    "cooccurrence": dmrank.Cooccurrence(),
    "popularity": dmrank.Popularity(),
    "mixedeffects": dmrank.MixedEffects(personal_strength=0),
}
TITLES = dict(
    zip(
        MEMBERS,
        ("EASE", "plain EASE", "iALS", "Cooccurrence", "Popularity", "MixedEffects"),
        strict=True,
    )
)
DEFAULT = ("ease", "ials", "cooccurrence")
WEIGHED: dict[str, tuple[tuple[str, ...], Loss, Family, float]] = {
    "directional, ξ = .2": (DEFAULT, "directional", Gaussian(0.2), 1e-3),
    "directional, ξ = 0": (DEFAULT, "directional", Gaussian(0.0), 1e-3),
    "directional, ξ = .5": (DEFAULT, "directional", Gaussian(0.5), 1e-3),
    "directional, student η = 5": (DEFAULT, "directional", Student(5.0, 0.2), 1e-3),
    "directional, L2 1e-2": (DEFAULT, "directional", Gaussian(0.2), 1e-2),
    "logistic": (DEFAULT, "logistic", Gaussian(0.2), 1e-3),
    "softmax": (DEFAULT, "softmax", Gaussian(0.2), 1e-3),
    "without cooccurrence": (("ease", "ials"), "directional", Gaussian(0.2), 1e-3),
    "and plain EASE": ((*DEFAULT, "plain ease"), "directional", Gaussian(0.2), 1e-3),
    "and popularity": ((*DEFAULT, "popularity"), "directional", Gaussian(0.2), 1e-3),
    "and MixedEffects": ((*DEFAULT, "mixedeffects"), "directional", Gaussian(0.2), 1e-3),
    "and both": ((*DEFAULT, "popularity", "mixedeffects"), "directional", Gaussian(0.2), 1e-3),
    "and all three": (tuple(MEMBERS), "directional", Gaussian(0.2), 1e-3),
    "all three, softmax": (tuple(MEMBERS), "softmax", Gaussian(0.2), 1e-3),
}


class Judge:
    """Full ranking of all users of the held-out ratings by the primary aspect."""

    def __init__(self, train: dmrank.Ratings, also: dmrank.Ratings, held_out: dmrank.Ratings):
        self.validators = [
            Validator(train, held_out, parse_metric(name), 10**9, 0, also_seen=also)
            for name in METRICS
        ]

    def __call__(self, name: str, scorer: Scorer) -> dict[str, str | float]:
        """Print what a scorer gets, and return it as a row."""
        values = [validator(scorer) for validator in self.validators]
        print(f"{name:28} {' '.join(f'{value:.4f}' for value in values)}", flush=True)
        return {"variant": name, **dict(zip(METRICS.values(), values, strict=True))}


def lambdamart(exposure: Exposure, held_out: HeldOut, seed: int) -> Blocks:
    """Learn trees of the same features from the same shortlists."""
    import lightgbm

    rows, labels, groups = [], [], []
    for x, label in shortlists(exposure, held_out, seed):
        rows.append(x)
        labels.append(label)
        groups.append(len(x))
    settings = {
        "objective": "lambdarank", "num_leaves": 7, "learning_rate": 0.05, "verbose": -1,
        "min_data_in_leaf": 50, "seed": seed,
    }  # fmt: skip
    data = lightgbm.Dataset(np.concatenate(rows), np.concatenate(labels), group=groups)
    ranker = lightgbm.train(settings, data, num_boost_round=150)

    def score(users: NDArray[np.integer]) -> NDArray[np.float32]:
        blocks = exposure.standardised(users)
        activity = exposure.activity_of(users)
        found = np.empty(blocks[0].shape, dtype=np.float32)
        for n in range(len(users)):
            z = np.stack([block[n] for block in blocks], axis=1)
            found[n] = ranker.predict(features(z, np.repeat(activity[n], len(z))))
        return found

    return Blocks(score)


def shortlists(
    exposure: Exposure, held_out: HeldOut, seed: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Return features and labels of each user's held-out items and of unrated best ones."""
    rng = np.random.default_rng(seed)
    pointer = held_out.items.pointer
    for n, user in enumerate(held_out.users):
        items = held_out.items.items[pointer[n] : pointer[n + 1]]
        z = np.stack([block[0] for block in exposure.standardised(np.array([user]))], axis=1)
        free = held_out.candidates.copy()
        free[held_out.excluded.of(n, n + 1).items] = False
        codes = np.flatnonzero(free)
        best = np.unique([codes[np.argsort(-column[codes])[:100]] for column in z.T])
        found = np.intersect1d(items, best)
        others = rng.permutation(np.setdiff1d(best, items))[: 20 * len(found)]
        if len(found):
            asked = np.concatenate([found, others])
            activity = np.repeat(exposure.activity_of(np.array([user])), len(asked))
            yield features(z[asked], activity), np.repeat([1, 0], [len(found), len(others)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES[:2], choices=FILES)
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser)
    arguments = parser.parse_args()
    packages = ("lightgbm",) if find_spec("lightgbm") else ()
    for file in arguments.files:
        ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
        split = ratings.split(seed=arguments.seed)
        inner = split.train.split(0.82, 0.18, 0.0, seed=100 + arguments.seed)
        judge = Judge(inner.train, inner.validation, split.validation)
        early, late = halves(inner.train, inner.validation, arguments.seed)
        print(f"\n{file}, validation of seed {arguments.seed}: {' '.join(METRICS)}")
        every = np.full(len(ratings.aspects), 1 / len(ratings.aspects), dtype=np.float32)
        fitted, rows = {}, []
        for name, model in MEMBERS.items():
            fitted[name] = model.clone().fit(inner.train, validation=early)
            rows.append(judge(TITLES[name], fitted[name].scorer(fitted[name].weights(None))))
        for name, (members, loss, family, strength) in WEIGHED.items():
            exposure = learn_exposure(
                {each: fitted[each] for each in members}, inner.train, late, loss=loss,
                family=family, regularization=strength, negatives=None, seed=arguments.seed,
            )  # fmt: skip
            rows.append(judge(name, Blocks(partial(exposure.block, mix=every))))
        if packages:
            exposure = replace(exposure, models={each: fitted[each] for each in DEFAULT})
            held_out = HeldOut.from_ratings(inner.train, late)
            rows.append(judge("LambdaMART", lambdamart(exposure, held_out, arguments.seed)))
        if arguments.record:
            write_record(f"blend-variants-{file}", as_called("blend_variants"), rows, packages)


if __name__ == "__main__":
    main()
