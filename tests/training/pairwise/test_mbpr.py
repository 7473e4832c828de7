"""An iteration of M-BPR is one step of AdaGrad on the sum of its losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dmrank.training.pairwise.dmr_settings import StepSettings, factor_settings, sampler_settings
from dmrank.training.pairwise.mbpr import LogisticSettings, run_logistic_iterations
from tests.training.problems import (
    ASPECTS,
    FACTORS,
    copied,
    drawn_pairs,
    random_data,
    random_parameters,
    started,
)

SETTINGS = StepSettings(
    batch_size=150, learning_rate=0.05, regularization=(0.03, 0.02, 0.01, 0.005), seed=5
)


def logistic(settings: StepSettings = SETTINGS, combination="sum") -> LogisticSettings:
    return LogisticSettings(sampler_settings(settings), factor_settings(settings), combination)


def plain_objective(pairs, U, V, W, b, combination: str) -> torch.Tensor:
    """Add up −Σ_k ℓ_k or −Π_k ℓ_k and the priors, pair by pair."""
    reg_U, reg_V, reg_W, reg_b = SETTINGS.regularization
    total = torch.zeros((), dtype=torch.float64)
    for p in np.flatnonzero(pairs.users >= 0):
        u, (i, j) = pairs.users[p], pairs.items[p]
        d = torch.tensor(pairs.differences[p, :ASPECTS], dtype=torch.float64)
        mu = W @ (U[u] * (V[i] - V[j])) + (b[i] - b[j] if len(b) else 0)
        differs = (d > 0) | (d < 0)
        losses = torch.nn.functional.softplus(-torch.sign(d[differs]) * mu[differs])
        total = total - (losses.sum() if combination == "sum" else losses.prod())
        total = total - reg_U / 2 * (U[u] ** 2).sum() - reg_W / 2 * (W**2).sum()
        for item in (i, j):
            total = total - reg_V / 2 * (V[item] ** 2).sum()
            if len(b):
                total = total - reg_b / 2 * (b[item] ** 2).sum()
    return total


@pytest.mark.parametrize("combination", ["sum", "product"])
@pytest.mark.parametrize(("missing", "offsets"), [(0.0, False), (0.4, True)])
def test_an_iteration_is_one_step_of_adagrad(combination, missing: float, offsets: bool) -> None:
    data, parameters = random_data(missing), random_parameters("identity", offsets)
    accumulators = started(parameters)
    before = copied(parameters)
    objective = run_logistic_iterations(
        data, parameters, accumulators, logistic(combination=combination), 3, 1
    )
    widths = {"users": FACTORS, "items": FACTORS, "aspects": FACTORS, "offsets": ASPECTS}
    plain = [
        torch.tensor(getattr(before, name)[:, :width], dtype=torch.float64, requires_grad=True)
        for name, width in widths.items()
    ]
    pairs = drawn_pairs(data, SETTINGS, iteration=3, step=0)
    plain_objective(pairs, *plain, combination).backward()
    for values, (name, width) in zip(plain, widths.items(), strict=True):
        gradient = values.grad if values.grad is not None else torch.zeros_like(values)
        gradient = gradient / SETTINGS.batch_size
        wanted = values + SETTINGS.learning_rate * gradient / (1e-4 + gradient**2).sqrt()
        learned = getattr(parameters, name)[:, :width]
        np.testing.assert_allclose(learned, wanted.detach(), rtol=1e-3, atol=2e-5)
    priors = plain_objective(pairs, *plain, combination)
    assert objective[0] > priors.item() / (pairs.users >= 0).sum()


@pytest.mark.parametrize("hard_negatives", [1, 3])
def test_every_bit_is_the_same_for_any_number_of_threads_and_any_cut(hard_negatives: int) -> None:
    settings = logistic(StepSettings(**{**vars(SETTINGS), "hard_negatives": hard_negatives}))

    def trained(parts: tuple[int, ...], threads: int) -> list[np.ndarray]:
        parameters = random_parameters("identity", offsets=True)
        accumulators, first, objectives = started(parameters), 0, []
        for count in parts:
            objectives.append(
                run_logistic_iterations(
                    random_data(), parameters, accumulators, settings, first, count, threads
                )
            )
            first += count
        return [*parameters, *accumulators, np.concatenate(objectives)]

    whole = trained((40,), 1)
    for parts, threads in [((40,), 2), ((1, 30, 9), 3)]:
        for ours, theirs in zip(trained(parts, threads), whole, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_training_raises_the_objective() -> None:
    parameters = random_parameters("identity")
    objectives = run_logistic_iterations(
        random_data(), parameters, started(parameters), logistic(), 0, 300
    )
    assert objectives[-20:].mean() > objectives[:20].mean() + 0.1
