"""A noise covariance for each user in MixedEffects: what it is worth, how strong, in which rounds.

    python -m benchmarks.preference_noise [--files yahoo-movies …] [--seed 1] [--record]

On validation ratings; test ratings are not looked at. First the model, without its personal part,
with one noise and with one for each user: order of rated pairs, contrast, log-loss of orders,
log-loss again with the one factor of covariances from these validation ratings themselves (kind to
all), and RMSE of hidden aspects given overall and two others, and overall alone. Then so many
rounds with a noise for each user after 30 with one: pairs, contrast, log-density, RMSE of
completion.
"""

from __future__ import annotations

import argparse

import numpy as np

import dmrank
from benchmarks.complete import by_dmr, hide, rmse, warm
from benchmarks.preference_variants import (
    DATA,
    FILES,
    completion_error,
    log_density,
    started_effects,
)
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.directional.packing import unpack
from dmrank.evaluation import OrderPairs, order_probability, rated_pairs
from dmrank.evaluation.warm_rows import warm_rows
from dmrank.fitted.fitting import Fitting
from dmrank.metrics import contrast_accuracy, pair_accuracy
from dmrank.training.effects.em import Effects, run_rounds
from dmrank.training.effects.passes import PassesHere

STRENGTHS = (30.0, 100.0, 300.0)
ROUNDS = (5, 10, 20)
COLUMNS = (
    "file", "noise", "pairs", "contrast", "log-loss", "with factor", "RMSE, 2 others",
    "RMSE, overall alone",
)  # fmt: skip
ROUND_COLUMNS = ("file", "rounds", "pairs", "contrast", "log-density", "RMSE, 2 others")


def show(name: str, values: tuple[float, ...]) -> tuple[str, ...]:
    """Print a row, and return its cells."""
    cells = (name, *(f"{value:.4f}" for value in values))
    print(f"  {name:<34}" + "".join(f"{cell:>10}" for cell in cells[1:]), flush=True)
    return cells


def log_loss(model: dmrank.Model, pairs: OrderPairs) -> float:
    ordered = np.nan_to_num(pairs.observed) != 0
    first = order_probability(model, pairs)
    said = np.where(pairs.observed > 0, first, 1 - first)[ordered]
    return float(-np.log(np.maximum(said, 1e-12)).mean())


def of_model(judged: dmrank.Split, pairs: OrderPairs, **parameters: object) -> tuple[float, ...]:
    unfitted = dmrank.MixedEffects(personal_strength=0, **parameters)
    model = unfitted.clone().fit(judged.train)
    factor_of_these = unfitted.clone().fit(judged.train, validation=judged.test)
    test, errors = warm(judged, judged.test), []
    for others in (2, 0):
        hidden = hide(test.values, others)
        errors.append(rmse(by_dmr(model, test, hidden), hidden.truth))
    losses = log_loss(model, pairs), log_loss(factor_of_these, pairs)
    return pairs.accuracy(model).pooled, pairs.contrast(model).pooled, *losses, *errors


def of_rounds(judged: dmrank.Split, pairs: OrderPairs, effects: Effects) -> tuple[float, ...]:
    test = warm_rows(judged)
    noise = unpack(effects.user_noise[test.users], test.values.shape[1]).astype(np.float64)
    predicted = effects.items[pairs.first] - effects.items[pairs.second]
    return (
        pair_accuracy(pairs.observed, predicted, pairs.pointer).pooled,
        contrast_accuracy(pairs.observed, predicted, pairs.pointer).pooled,
        log_density(tuple(test), effects, noise, None),
        completion_error(tuple(test), effects, noise),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser)
    arguments = parser.parse_args()
    of_models, of_further = [], []
    for file in arguments.files:
        ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
        split = ratings.split(seed=arguments.seed)
        # Validation in the place of test, which is not looked at.
        nothing = split.validation.select(np.empty(0, dtype=np.int64))
        judged = dmrank.Split(split.train, nothing, split.validation)
        pairs = rated_pairs(judged)
        print(f"\n{file}, seed {arguments.seed}")
        found = [show("one Σ_e", of_model(judged, pairs, noise="shared"))]
        for kappa in STRENGTHS:
            of_kappa = of_model(judged, pairs, noise_strength=kappa)
            found.append(show(f"Σ_u, κ = {kappa:g}", of_kappa))
        of_models += [dict(zip(COLUMNS, (file, *cells), strict=True)) for cells in found]
        crossed, started = started_effects(Fitting(split.train).training_data())
        for rounds in ROUNDS:
            effects = Effects(*(array.copy() for array in started))
            run_rounds(PassesHere(crossed, None), effects, rounds, 100.0)
            cells = show(f"30 and {rounds} rounds, κ = 100", of_rounds(judged, pairs, effects))
            of_further.append(dict(zip(ROUND_COLUMNS, (file, *cells), strict=True)))
    if arguments.record:
        command = as_called("preference_noise")
        write_record("preference-noise", command, of_models)
        write_record("preference-noise-rounds", command, of_further)


if __name__ == "__main__":
    main()
