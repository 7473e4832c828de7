"""An iteration of MTER is a step on ratings, then a step on the order of one aspect."""

from __future__ import annotations

import numpy as np
import torch

from dmrank.training.pairwise.dmr_settings import StepSettings
from dmrank.training.pairwise.mter import run_tucker_iterations
from dmrank.training.pairwise.sampling import random_stream, uniform_below
from dmrank.training.pairwise.settings import SamplerSettings
from dmrank.training.pairwise.tucker import TuckerParameters, TuckerSettings
from tests.training.problems import ASPECTS, ITEMS, USERS, drawn_pairs, padded_rows, random_data

FACTORS, ASPECT_FACTORS, BATCH = 5, 4, 150
SAMPLER = SamplerSettings(BATCH, 0.0, 1, 5)
SETTINGS = TuckerSettings(
    learning_rate=0.05, scale=1 / BATCH, regularization=0.02, ranking_weight=3.0, primary=1
)
SQUARE = 1e-2


def random_parameters(seed: int = 0) -> TuckerParameters:
    rng = np.random.default_rng(seed)
    core = np.zeros((8, 8, ASPECT_FACTORS), dtype=np.float32)
    core[:FACTORS, :FACTORS] = rng.random((FACTORS, FACTORS, ASPECT_FACTORS)) / 4
    return TuckerParameters(
        users=padded_rows(rng.random((USERS, FACTORS))),
        items=padded_rows(rng.random((ITEMS, FACTORS))),
        aspects=rng.random((ASPECTS, ASPECT_FACTORS)).astype(np.float32),
        core=core,
    )


def started(parameters: TuckerParameters) -> TuckerParameters:
    return TuckerParameters(*(np.full_like(array, SQUARE) for array in parameters))


def prior(*arrays: torch.Tensor) -> torch.Tensor:
    return SETTINGS.regularization / 2 * sum((array**2).sum() for array in arrays)


def predicted(U, V, F, G, u: int, i: int) -> torch.Tensor:
    return torch.einsum("a,b,kc,abc->k", U[u], V[i], F, G)


def rating_objective(data, U, V, F, G) -> torch.Tensor:
    total = torch.zeros((), dtype=torch.float64)
    stream = np.uint64(random_stream(SAMPLER.seed, 0, 1))
    for sample in range(BATCH):
        row = uniform_below(stream, sample, 0, len(data.items))
        u, i = data.row_users[row], data.items[row]
        ratings = torch.tensor(data.values[row], dtype=torch.float64)
        known = ~torch.isnan(ratings)
        error = ratings[known] - predicted(U, V, F, G, u, i)[known]
        total = total - (error**2).sum() / 2 - prior(U[u], V[i], F, G)
    return total


def ranking_objective(data, U, V, F, G) -> torch.Tensor:
    o = SETTINGS.primary
    by_primary = data._replace(values=np.ascontiguousarray(data.values[:, o : o + 1]))
    pairs = drawn_pairs(by_primary, StepSettings(batch_size=BATCH, seed=SAMPLER.seed), 0, 0)
    total = torch.zeros((), dtype=torch.float64)
    for p in np.flatnonzero(pairs.users >= 0):
        u, (i, j) = pairs.users[p], pairs.items[p]
        difference = (predicted(U, V, F, G, u, i) - predicted(U, V, F, G, u, j))[o]
        x = np.sign(pairs.differences[p, 0]) * difference
        total = total - SETTINGS.ranking_weight * torch.nn.functional.softplus(-x)
        # The ranking step touches no other row of F.
        total = total - prior(U[u], V[i], V[j], F[o], G)
    return total


def test_an_iteration_is_two_steps_of_projected_adagrad() -> None:
    data = random_data(missing=0.3)
    parameters = random_parameters()
    values = [torch.tensor(array, dtype=torch.float64) for array in parameters]
    squares = [torch.full_like(value, SQUARE) for value in values]
    for objective in (rating_objective, ranking_objective):
        values = [value.detach().requires_grad_() for value in values]
        objective(data, *values).backward()
        with torch.no_grad():
            for n, value in enumerate(values):
                gradient = value.grad / BATCH
                squares[n] = squares[n] + gradient**2
                step = SETTINGS.learning_rate * gradient / squares[n].sqrt()
                values[n] = (value + step).clamp(min=0)
    run_tucker_iterations(data, parameters, started(random_parameters()), SETTINGS, SAMPLER, 0, 1)
    for learned, wanted in zip(parameters, values, strict=True):
        np.testing.assert_allclose(learned, wanted.detach(), rtol=1e-3, atol=2e-5)


def trained(parts: tuple[int, ...], threads: int) -> list[np.ndarray]:
    parameters = random_parameters()
    accumulators, first, objectives = started(parameters), 0, []
    for count in parts:
        objectives.append(
            run_tucker_iterations(
                random_data(), parameters, accumulators, SETTINGS, SAMPLER, first, count, threads
            )
        )
        first += count
    return [*parameters, *accumulators, np.concatenate(objectives)]


def test_every_bit_is_the_same_for_any_number_of_threads_and_any_cut() -> None:
    whole = trained((40,), 1)
    for parts, threads in [((40,), 2), ((40,), 5), ((1, 30, 9), 3)]:
        for ours, theirs in zip(trained(parts, threads), whole, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_training_raises_both_objectives_and_keeps_parameters_not_negative() -> None:
    *arrays, objectives = trained((400,), 2)
    ratings, order = objectives[-20:].mean(axis=0) - objectives[:20].mean(axis=0)
    assert ratings > 0.1
    assert order > 0.1
    assert all(array.min() >= 0 for array in arrays)


def test_padding_stays_zero() -> None:
    parameters = TuckerParameters(*trained((40,), 2)[:4])
    assert not parameters.users[:, FACTORS:].any()
    assert not parameters.items[:, FACTORS:].any()
    assert not parameters.core[FACTORS:].any()
    assert not parameters.core[:, FACTORS:].any()
