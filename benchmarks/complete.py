"""Completing ratings: how far off hidden aspects are, and how often the 90 % interval holds.

    python -m benchmarks.complete [--iterations 4000] [--record]

Test ratings with the overall and two other aspects given (drawn by a seed), or the overall alone;
the other known aspects are hidden and predicted. Beside DMR's conditional mean: the mean rating of
the item on that aspect, the given overall itself, and a least-squares regression on the given
aspects, fitted on the training rows that have them. DMR with its defaults, and as a predictor of
ratings: trained on rated pairs with item offsets, regularization chosen on validation. Intervals
are mean ± 1.645 deviations; those of the others have the standard deviation of their errors on
training ratings. BeerAdvocate: the ratings of 1,500 users.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.fitted.evidence import averages

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("tripadvisor", "beeradvocate")
MOST_USERS = 1_500
Z_90 = 1.645
#: What is given beside the overall rating, and how its columns are called.
GIVEN = {2: "2 others", 0: "overall alone"}
TABLE = "{:<40}{:>10}{:>14}"


class Hidden(NamedTuple):
    """Test ratings with known aspects hidden: what is given, and what was hidden."""

    given: NDArray[np.float32]
    truth: NDArray[np.float32]


class Answer(NamedTuple):
    """Predictions and their standard deviations."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]


def hide(values: NDArray[np.float32], others: int, seed: int = 0) -> Hidden:
    """Keep the first aspect and so many others that are known; the rest is the truth."""
    rng = np.random.default_rng(seed)
    known = ~np.isnan(values)
    order = np.where(known, rng.random(values.shape), np.inf)
    order[:, 0] = -1
    rank = np.argsort(np.argsort(order, axis=1), axis=1)
    shown = known & (rank <= others)
    return Hidden(np.where(shown, values, np.nan), np.where(shown, np.nan, values))


def by_item_mean(train: dmrank.Ratings, items: NDArray[np.integer]) -> Answer:
    means, counts = averages(train.item_codes, train.values, len(train.items))
    level = np.nanmean(train.values, axis=0)
    means = np.where(counts > 0, means, level)
    deviation = np.nanstd(train.values - means[train.item_codes], axis=0)
    return Answer(means[items], np.tile(deviation, (len(items), 1)))


def by_overall(train: dmrank.Ratings, hidden: Hidden) -> Answer:
    mean = np.repeat(hidden.given[:, :1], hidden.given.shape[1], axis=1)
    error = train.values - train.values[:, :1]
    deviation = np.sqrt(np.nanmean(error**2, axis=0))
    return Answer(mean, np.tile(deviation, (len(mean), 1)))


def by_regression(train: dmrank.Ratings, hidden: Hidden) -> Answer:
    """Regress each hidden aspect on the given ones, for every set of given aspects."""
    mean, deviation = np.full((2, *hidden.truth.shape), np.nan)
    for rows, given in _patterns(~np.isnan(hidden.given)):
        complete = ~np.isnan(train.values[:, given]).any(axis=1)
        for k in np.flatnonzero(~np.isnan(hidden.truth[rows]).all(axis=0)):
            of_train = np.flatnonzero(complete & ~np.isnan(train.values[:, k]))
            x = _with_one(train.values[of_train][:, given])
            y = train.values[of_train, k]
            solution = np.linalg.lstsq(x, y, rcond=None)[0]
            mean[rows, k] = _with_one(hidden.given[rows][:, given]) @ solution
            deviation[rows, k] = np.std(y - x @ solution)
    return Answer(mean, deviation)


def _patterns(
    known: NDArray[np.bool_],
) -> Iterator[tuple[NDArray[np.integer], NDArray[np.integer]]]:
    found, inverse = np.unique(known, axis=0, return_inverse=True)
    for n, pattern in enumerate(found):
        yield np.flatnonzero(inverse.ravel() == n), np.flatnonzero(pattern)


def _with_one(x: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(x)), x.astype(np.float64)])


def by_dmr(model: dmrank.DMR, test: dmrank.Ratings, hidden: Hidden) -> Answer:
    table = test.to_polars().select("user", "item")
    table = table.with_columns(**dict(zip(test.aspects, hidden.given.T.copy(), strict=True)))
    table = table.fill_nan(None)
    found = model.complete(table)
    names = list(test.aspects)
    deviations = found.select(f"{name}_sd" for name in names).to_numpy()
    return Answer(found.select(names).to_numpy(), deviations)


def rmse(answer: Answer, truth: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.nanmean((truth - answer.mean) ** 2)))


def show(name: str, answer: Answer, truth: NDArray[np.float32]) -> tuple[str, str]:
    """Print the RMSE and how often the interval holds, and return both."""
    asked = ~np.isnan(truth)
    inside = np.abs(truth - answer.mean)[asked] <= Z_90 * answer.deviation[asked]
    found = f"{rmse(answer, truth):.4f}", f"{inside.mean():.1%}"
    print(TABLE.format(name, *found), flush=True)
    return found


def warm(split: dmrank.Split, part: dmrank.Ratings) -> dmrank.Ratings:
    return part.select(np.flatnonzero(~split.cold_rows(part)))


def rater(split: dmrank.Split, iterations: int) -> dmrank.DMR:
    """Return DMR as a predictor of ratings: rated pairs, item offsets, tuned on validation."""
    validation = warm(split, split.validation)
    hidden = hide(validation.values, 2)
    best: tuple[float, dmrank.DMR] | None = None
    for regularization in (0.03, 0.1, 0.3):
        model = dmrank.DMR(
            rated_share=1.0, item_offsets=True, regularization=regularization,
            iterations=iterations // 2, evaluate_every=iterations // 2, first_look=None, threads=1,
        )  # fmt: skip
        model.fit(split.train, validation=split.validation)
        value = rmse(by_dmr(model, validation, hidden), hidden.truth)
        if best is None or value < best[0]:
            best = (value, model)
    assert best is not None
    return best[1]


def measure(name: str, iterations: int) -> list[dict[str, str]]:
    """Print how each predictor completes the test ratings of a file, and return the rows."""
    ratings = dmrank.read_ratings(DATA / f"{name}.parquet", verbose=False)
    if len(ratings.users) > 10_000:
        rng = np.random.default_rng(0)
        chosen = np.zeros(len(ratings.users), dtype=np.bool_)
        chosen[rng.choice(len(ratings.users), MOST_USERS, replace=False)] = True
        ratings = ratings.select(np.flatnonzero(chosen[ratings.user_codes])).k_core(5)
    split = ratings.split(seed=0)
    test = warm(split, split.test)
    model = dmrank.DMR(iterations=iterations, evaluate_every=500, patience=4, threads=1)
    model.fit(split.train, validation=split.validation)
    on_pairs = rater(split, iterations)
    print(f"\n{name}: {ratings}; {len(test):,} test ratings; {model.history}")
    rows: dict[str, dict[str, str]] = {}
    for others, given in GIVEN.items():
        hidden = hide(test.values, others)
        asked = int((~np.isnan(hidden.truth)).sum())
        print(f"given: overall and {others} others; {asked:,} hidden ratings")
        print(TABLE.format("", "RMSE", "90 % holds"))
        answers = {
            "item's mean": by_item_mean(split.train, test.item_codes),
            "the given overall": by_overall(split.train, hidden),
            "regression on the given aspects": by_regression(split.train, hidden),
            "DMR, defaults": by_dmr(model, test, hidden),
            f"DMR, rated pairs, regularization {on_pairs.config.regularization:g}": by_dmr(
                on_pairs, test, hidden
            ),
        }
        for title, answer in answers.items():
            error, held = show(title, answer, hidden.truth)
            row = rows.setdefault(title, {"predicted by": title})
            row |= {f"RMSE, {given}": error, f"90 % holds, {given}": held}
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--iterations", type=int, default=4_000)
    add_record_option(parser)
    arguments = parser.parse_args()
    for name in arguments.files:
        rows = measure(name, arguments.iterations)
        if arguments.record:
            write_record(f"complete-{name}", as_called("complete"), rows)


if __name__ == "__main__":
    main()
