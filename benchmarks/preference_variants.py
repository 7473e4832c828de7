"""Does other noise help mixed effects? Personalized covariances, and heavy tails.

    python -m benchmarks.preference_variants [--files yahoo-movies …] [--seed 1] [--record]

On validation ratings: accuracy of the order of rated pairs and of contrasts, pooled; the mean
log-density of the rating vectors, with V(a_u) + V(b_i) + noise as covariance; and the RMSE of
hidden aspects, overall and two others given.

- *one Σ_e*: the model as it is.
- *Σ_e per user*, *per item*: inverse Wishart around Σ_e with κ degrees of freedom, the paper's
  question: Σ_u = (κ Σ_e + Σ_i E[e eᵀ]) / (κ + n_u).
- *directional*: DMR on rated pairs, with item offsets that start at b_i of the mixed effects and
  are drawn to 0 by a ridge per sampled pair, gaussian or student (η = 5), factors nearly off or as
  in DMR-R; and item offsets alone with N(0, Σ_b) as their prior (`preference_directional`).
- *student*: e_ui ~ t_ν(0, Σ_e), by weights (ν + k) / (ν + E[eᵀ P e]) of rating vectors, in steps.

All use the updates of `dmrank.training.effects`: rating vectors with a noise of their own are a
pattern of their own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

import dmrank
from benchmarks.complete import hide
from benchmarks.preference_directional import draw_pairs, families, fit_offsets
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.directional.condition import condition
from dmrank.directional.packing import unpack
from dmrank.evaluation import OrderPairs, rated_pairs
from dmrank.evaluation.warm_rows import WarmRows, warm_rows
from dmrank.fitted.fitting import Fitting
from dmrank.metrics import contrast_accuracy, pair_accuracy
from dmrank.models import dmr
from dmrank.training.data import TrainingData
from dmrank.training.effects.blocks import Patterns, update_effects
from dmrank.training.effects.em import SMALLEST_VARIANCE, Effects, initial_effects, run_rounds
from dmrank.training.effects.passes import CrossedRatings, PassesHere, crossed_ratings
from dmrank.training.effects.residuals import sum_residuals

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
PARTS = ("noise", "ridge", "prior")
COLUMNS = ("variant", "pairs", "contrast", "log-density", "RMSE")
#: Of so many figures the largest is the best.
_HIGHEST = 3
ROUNDS = 15
STEPS = 24
Floats = NDArray[np.float64]
#: From effects to groups of rating vectors and the covariance of each group's noise.
Noise = Callable[[CrossedRatings, Effects], tuple[NDArray[np.integer], Floats]]
Row = dict[str, str | float]


def started_effects(data: TrainingData) -> tuple[CrossedRatings, Effects]:
    """Return the ratings from both sides, and the effects after 30 rounds with one noise."""
    crossed = crossed_ratings(data)
    effects = initial_effects(
        data.values, len(data.user_ptr) - 1, len(data.item_counts), own_noise=True
    )
    run_rounds(PassesHere(crossed, None), effects, 30)
    return crossed, effects


def padded_inverse(covariances: Floats, present: NDArray[np.bool_]) -> Floats:
    both = present[:, :, None] & present[:, None, :]
    filled = np.where(both, covariances, np.eye(present.shape[1]))
    return np.where(both, np.linalg.inv(filled), 0.0)


def regroup(
    ratings: CrossedRatings, groups: NDArray[np.integer], covariances: Floats
) -> tuple[CrossedRatings, Floats, NDArray[np.integer]]:
    """Make a pattern of each group and set of aspects that occur together."""
    keys = groups.astype(np.int64) * len(ratings.patterns.present) + ratings.patterns.of_rows
    found, of_rows = np.unique(keys, return_inverse=True)
    group, pattern = np.divmod(found, len(ratings.patterns.present))
    present = ratings.patterns.present[pattern]
    patterns = Patterns(present, of_rows.astype(np.int32))
    P = padded_inverse(covariances[group], present)
    return ratings._replace(patterns=patterns), P, group


def e_step(ratings: CrossedRatings, effects: Effects, P: Floats) -> tuple[Floats, Floats]:
    """Update users and items; return Σ E[ê êᵀ] of each pattern, and how many vectors it has."""
    left = ratings.values - effects.level
    sums = [
        update_effects(
            own, covariances, side, left, others, ratings.patterns,
            noise=P, prior=np.linalg.inv(prior), threads=None,
        )
        for own, covariances, side, others, prior in (
            (effects.users, effects.user_covariances, ratings.by_user, effects.items,
             effects.user_prior),
            (effects.items, effects.item_covariances, ratings.by_item, effects.users,
             effects.item_prior),
        )
    ]  # fmt: skip
    for prior, part, rows in zip(
        (effects.user_prior, effects.item_prior), sums, (effects.users, effects.items), strict=True
    ):
        prior[...] = part.moment / len(rows)
        prior[np.diag_indices(len(prior))] += SMALLEST_VARIANCE
    residuals = sum_residuals(
        left, ratings.codes, (effects.users, effects.items), ratings.patterns, None
    )
    lower = residuals.outer
    outer = lower + np.tril(lower, -1).transpose(0, 2, 1)
    moments = outer + sum(part.spread for part in sums)
    counts = np.bincount(ratings.patterns.of_rows, minlength=len(P)).astype(np.float64)
    return moments, counts


def completed(moments: Floats, counts: Floats, covariances: Floats, P: Floats) -> Floats:
    B = covariances @ P
    unknown = covariances - B @ covariances
    return B @ moments @ B.transpose(0, 2, 1) + counts[:, None, None] * unknown


def personalized(side: int, kappa: float) -> Noise:
    """Σ_e of each user (side 0) or item (side 1), shrunk to the common one."""

    def noise(ratings: CrossedRatings, effects: Effects) -> tuple[NDArray[np.integer], Floats]:
        groups = ratings.codes[side]
        size = len(effects.users if side == 0 else effects.items)
        covariances = np.tile(effects.noise, (size, 1, 1))
        for _ in range(ROUNDS):
            grouped, P, group = regroup(ratings, groups, covariances)
            moments, counts = e_step(grouped, effects, P)
            sums = completed(moments, counts, covariances[group], P)
            total, n = np.zeros_like(covariances), np.zeros(size)
            np.add.at(total, group, sums)
            np.add.at(n, group, counts)
            effects.noise[...] = total.sum(axis=0) / n.sum()
            weight = (kappa + n)[:, None, None]
            covariances = (kappa * effects.noise + total) / weight
        return groups, covariances

    return noise


def heavy_tails(nu: float) -> Noise:
    """Return weights of rating vectors, in steps, as groups with a smaller or larger Σ_e."""
    steps = np.geomspace(0.05, 1 + 9 / nu, STEPS)

    def noise(ratings: CrossedRatings, effects: Effects) -> tuple[NDArray[np.integer], Floats]:
        present = ratings.patterns.present[ratings.patterns.of_rows]
        groups = np.full(len(present), int(np.abs(steps - 1).argmin()))
        for _ in range(ROUNDS):
            covariances = effects.noise / steps[:, None, None]
            grouped, P, group = regroup(ratings, groups, covariances)
            moments, counts = e_step(grouped, effects, P)
            # Σ w E[e eᵀ] / n: moments of a group count by its weight.
            scaled = completed(
                steps[group][:, None, None] * moments,
                counts,
                np.tile(effects.noise, (len(group), 1, 1)),
                P / steps[group][:, None, None],
            )
            effects.noise[...] = scaled.sum(axis=0) / counts.sum()
            plain = padded_inverse(
                np.tile(effects.noise, (len(ratings.patterns.present), 1, 1)),
                ratings.patterns.present,
            )
            distance = _distances(ratings, effects, plain)
            wanted = (nu + present.sum(axis=1)) / (nu + distance)
            groups = np.abs(np.log(wanted)[:, None] - np.log(steps)).argmin(axis=1)
        return groups, effects.noise / steps[:, None, None]

    return noise


def _distances(ratings: CrossedRatings, effects: Effects, P: Floats) -> Floats:
    """Return E[êᵀ P ê] of every rating vector."""
    users, items = ratings.codes
    K = effects.level.shape[1]
    found = np.empty(len(users))
    for start in range(0, len(users), 1 << 16):
        rows = slice(start, start + (1 << 16))
        left = ratings.values[rows] - effects.level
        e = np.nan_to_num(left - effects.users[users[rows]] - effects.items[items[rows]])
        own = P[ratings.patterns.of_rows[rows]]
        spread = unpack(effects.user_covariances[users[rows]], K).astype(np.float64)
        spread += unpack(effects.item_covariances[items[rows]], K)
        found[rows] = np.einsum("nj,njk,nk->n", e, own, e) + np.einsum("njk,nkj->n", own, spread)
    return found


def log_density(
    test: tuple[NDArray[np.integer], NDArray[np.integer], Floats],
    effects: Effects,
    covariances: Floats,
    nu: float | None,
) -> float:
    """Return the mean log-density of rating vectors, given the noise of each."""
    users, items, values = test
    K = values.shape[1]
    spread = unpack(effects.user_covariances[users], K).astype(np.float64)
    spread += unpack(effects.item_covariances[items], K)
    known = ~np.isnan(values)
    both = known[:, :, None] & known[:, None, :]
    sigma = np.where(both, spread + covariances, np.eye(K))
    e = np.nan_to_num(values - effects.level - effects.users[users] - effects.items[items])
    distance = (e * np.linalg.solve(sigma, e[:, :, None])[:, :, 0]).sum(axis=1)
    half, k = -np.linalg.slogdet(sigma)[1] / 2, known.sum(axis=1)
    if nu is None:
        return float((half - (k * np.log(2 * np.pi) + distance) / 2).mean())
    norm = special.gammaln((nu + k) / 2) - special.gammaln(nu / 2) - k / 2 * np.log(nu * np.pi)
    return float((half + norm - (nu + k) / 2 * np.log1p(distance / nu)).mean())


def completion_error(
    test: tuple[NDArray[np.integer], NDArray[np.integer], Floats],
    effects: Effects,
    covariances: Floats,
) -> float:
    """Return the RMSE of hidden aspects, overall and two others given, on the scale 1–5."""
    users, items, values = test
    K = values.shape[1]
    hidden = hide(values, 2)
    spread = unpack(effects.user_covariances[users], K).astype(np.float64)
    spread += unpack(effects.item_covariances[items], K)
    mean = effects.level + effects.users[users] + effects.items[items]
    found = condition(mean, spread + covariances, hidden.given).mean
    return float(np.sqrt(np.nanmean(np.square(np.clip(found, 1, 5) - hidden.truth))))


VARIANTS: dict[str, tuple[Noise | None, int | None, float | None]] = {
    "one Σ_e": (None, None, None),
    "Σ_e per user, κ = 10": (personalized(0, 10.0), 0, None),
    "Σ_e per user, κ = 30": (personalized(0, 30.0), 0, None),
    "Σ_e per user, κ = 100": (personalized(0, 100.0), 0, None),
    "Σ_e per item, κ = 30": (personalized(1, 30.0), 1, None),
    "Σ_e per item, κ = 100": (personalized(1, 100.0), 1, None),
    "student, ν = 4": (heavy_tails(4.0), None, 4.0),
    "student, ν = 8": (heavy_tails(8.0), None, 8.0),
}


class StartedAtEffects(dmrank.DMR):
    """DMR on rated pairs whose item offsets start at the effects of items."""

    effects: Floats

    def learn(self, fitting: Fitting) -> None:
        before = dmr.item_means
        dmr.item_means = lambda data: self.effects.astype(np.float32)  # noqa: ARG005
        try:
            super().learn(fitting)
        finally:
            dmr.item_means = before


DIRECTIONAL: dict[str, dict[str, object]] = {
    f"directional, {family}, ridge {ridge:g}, factors {'off' if strong > 1 else 'on'}": {
        "family": family, "offset_regularization": ridge, "regularization": strong,
    }
    for family in ("gaussian", "student")
    for ridge in (0.0, 0.003, 0.03)
    for strong in (0.1, 10.0)
}  # fmt: skip


def show(name: str, *values: float) -> Row:
    """Print what is found of a variant, and return it as a row; a dash is for what has no value."""
    print(f"  {name:<50}" + "".join(f"{value:>10.4f}" for value in values), flush=True)
    # Text, for a table shows the largest of a column in bold.
    errors = [f"{value:.4f}" for value in values[_HIGHEST:]]
    found = [*values[:_HIGHEST], *errors, *["–"] * (len(COLUMNS) - 1 - len(values))]
    return dict(zip(COLUMNS, (name, *found), strict=True))


def orders(predicted: Floats, pairs: OrderPairs) -> tuple[float, float]:
    """Return the accuracy of orders and of contrasts."""
    return (
        pair_accuracy(pairs.observed, predicted, pairs.pointer).pooled,
        contrast_accuracy(pairs.observed, predicted, pairs.pointer).pooled,
    )


def by_noise(
    pairs: OrderPairs, test: WarmRows, crossed: CrossedRatings, started: Effects
) -> list[Row]:
    """Compare kinds of noise."""
    rows = []
    for name, (make, side, nu) in VARIANTS.items():
        effects = Effects(*(array.copy() for array in started))
        covariances = np.tile(effects.noise, (len(test.users), 1, 1))
        if make is not None:
            _, of_groups = make(crossed, effects)
            covariances = np.tile(effects.noise, (len(test.users), 1, 1))
            if side is not None:
                covariances = of_groups[test.users if side == 0 else test.items]
        predicted = effects.items[pairs.first] - effects.items[pairs.second]
        density = log_density(tuple(test), effects, covariances, nu)
        error = completion_error(tuple(test), effects, covariances)
        rows.append(show(name, *orders(predicted, pairs), density, error))
    return rows


def by_ridge(split: dmrank.Split, pairs: OrderPairs, effects: Effects) -> list[Row]:
    """Return the best of the directional models by orders, of all that are printed."""
    rows = []
    for name, options in DIRECTIONAL.items():
        model = StartedAtEffects(
            rated_share=1.0,
            item_offsets=True,
            iterations=1_500,
            evaluate_every=1_500,
            first_look=None,
            **options,
        )
        model.effects = effects.items
        model.fit(split.train)
        rows.append(show(name, pairs.accuracy(model).pooled, pairs.contrast(model).pooled))
    best = max(rows, key=lambda row: row["pairs"])
    return [best | {"variant": f"best of {len(rows)}: {best['variant']}"}]


def by_prior(data: TrainingData, pairs: OrderPairs, effects: Effects) -> list[Row]:
    """Compare offsets with the prior of the effects, family by family."""
    drawn, rows = draw_pairs(data), []
    for name, family, scale in families():
        offsets, objective = fit_offsets(drawn, effects, family, scale)
        predicted = offsets[pairs.first] - offsets[pairs.second]
        rows.append(show(name, *orders(predicted, pairs)))
        print(f"    mean log-likelihood of the training pairs {objective:.4f}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--parts", nargs="+", default=PARTS, choices=PARTS, help="which variants are run"
    )
    add_record_option(parser)
    arguments = parser.parse_args()
    for file in arguments.files:
        ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
        split = ratings.split(seed=arguments.seed)
        # Validation in the place of test, which is not looked at.
        nothing = split.validation.select(np.empty(0, dtype=np.int64))
        judged = dmrank.Split(split.train, nothing, split.validation)
        pairs, test = rated_pairs(judged), warm_rows(judged)
        data = Fitting(split.train).training_data()
        crossed, started = started_effects(data)
        print(f"\n{file}, seed {arguments.seed}: {', '.join(COLUMNS[1:])}")
        parts: dict[str, Callable[[], list[Row]]] = {
            "noise": partial(by_noise, pairs, test, crossed, started),
            "ridge": partial(by_ridge, split, pairs, started),
            "prior": partial(by_prior, data, pairs, started),
        }
        rows = [row for name in arguments.parts for row in parts[name]()]
        if arguments.record:
            write_record(f"preference-variants-{file}", as_called("preference_variants"), rows)


if __name__ == "__main__":
    main()
