"""An iteration does what the paper says, and the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from dmrank.compiled.ranges import count_threads
from dmrank.directional import Gaussian, Student, log_likelihood
from dmrank.support.errors import ConfigError, DataError
from dmrank.training.data import training_data
from dmrank.training.pairwise.dmr import run_iterations
from dmrank.training.pairwise.dmr_settings import CovariancePrior, StepSettings
from dmrank.training.pairwise.parameters import Parameters, empty_accumulators
from tests.training.problems import (
    ASPECTS,
    FACTORS,
    PlainTraining,
    copied,
    covariances_of,
    drawn_pairs,
    random_data,
    random_parameters,
    random_prior,
    smallest_diagonal,
    started,
    unpack,
)

SETTINGS = StepSettings(
    batch_size=150,
    learning_rate=0.05,
    covariance_learning_rate=0.05,
    family=Gaussian(0.2),
    user_weight=0.3,
    regularization=(0.03, 0.02, 0.01, 0.005),
    rated_share=0.3,
    seed=5,
)


def changed(**fields) -> StepSettings:
    return StepSettings(**{**SETTINGS.__dict__, **fields})


CASES = {
    "personalized": (SETTINGS, 0.0, False),
    "student": (changed(family=Student(4.0, 0.2)), 0.0, False),
    "missing": (SETTINGS, 0.4, False),
    "student, missing, offsets": (changed(family=Student(4.0, 0.2)), 0.4, True),
    "shared": (changed(covariance="shared"), 0.0, False),
    "shared, missing": (changed(covariance="shared"), 0.4, True),
    "identity": (changed(covariance="identity"), 0.0, False),
    "identity, missing": (changed(covariance="identity"), 0.4, True),
}


@pytest.mark.parametrize(("settings", "missing", "offsets"), CASES.values(), ids=CASES)
def test_an_iteration_is_the_plain_algorithm(
    settings: StepSettings, missing: float, offsets: bool
) -> None:
    data, prior = random_data(missing), random_prior()
    parameters = random_parameters(settings.covariance, offsets)
    accumulators = started(parameters)
    plain = PlainTraining(data, parameters, accumulators, prior, settings)
    run_iterations(data, parameters, accumulators, prior, settings, first_iteration=9, count=1)

    plain.factor_step(drawn_pairs(data, settings, iteration=9, step=0))
    np.testing.assert_allclose(parameters.users[:, :FACTORS], plain.U, atol=2e-5)
    np.testing.assert_allclose(parameters.items[:, :FACTORS], plain.V, atol=2e-5)
    np.testing.assert_allclose(parameters.aspects[:, :FACTORS], plain.W, atol=2e-5)
    np.testing.assert_allclose(parameters.offsets[:, :ASPECTS], plain.b, atol=2e-5)
    if settings.covariance != "identity":
        plain.covariance_step(drawn_pairs(data, settings, iteration=9, step=1))
        np.testing.assert_allclose(unpack(parameters.user_roots), plain.L_u, atol=2e-5)
        np.testing.assert_allclose(unpack(parameters.item_roots), plain.L_i, atol=2e-5)


def test_the_objective_is_the_mean_log_likelihood_before_the_update() -> None:
    data, parameters = random_data(missing=0.3), random_parameters()
    plain = PlainTraining(data, parameters, started(parameters), random_prior(), SETTINGS)
    objectives = run_iterations(
        data, parameters, started(parameters), random_prior(), SETTINGS, 0, 1
    )

    def mean(step: int) -> float:
        pairs = drawn_pairs(data, SETTINGS, 0, step)
        drawn = [plain.pair(pairs, p) for p in np.flatnonzero(pairs.users >= 0)]
        return np.mean([log_likelihood(*p[:3], SETTINGS.family, p[3]) for p in drawn])

    assert objectives[0, 0] == pytest.approx(mean(0), rel=1e-5)
    plain.factor_step(drawn_pairs(data, SETTINGS, 0, 0))
    assert objectives[0, 1] == pytest.approx(mean(1), rel=1e-4)


def trained(
    settings: StepSettings, parts: tuple[int, ...], threads: int, missing: float = 0.3
) -> tuple[np.ndarray, ...]:
    data = random_data(missing)
    parameters = random_parameters(settings.covariance, offsets=True)
    accumulators = empty_accumulators(parameters)
    objectives, first = [], 0
    for count in parts:
        objectives.append(
            run_iterations(
                data, parameters, accumulators, random_prior(), settings, first, count, threads
            )
        )
        first += count
    return (*parameters, *accumulators, np.concatenate(objectives))


@pytest.mark.parametrize(
    "settings",
    [SETTINGS, changed(covariance="shared"), changed(hard_negatives=3, family=Student(4.0, 0.2))],
    ids=["personalized", "shared", "hard negatives"],
)
def test_every_bit_is_the_same_for_any_number_of_threads_and_any_cut(
    settings: StepSettings,
) -> None:
    whole = trained(settings, (40,), threads=1)
    for parts, threads in [((40,), 2), ((40,), 5), ((1, 30, 9), 1), ((13, 27), 3)]:
        for ours, theirs in zip(trained(settings, parts, threads), whole, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_training_raises_the_objective() -> None:
    *_, objectives = trained(changed(learning_rate=0.1), (400,), threads=2)
    assert objectives[-20:].mean() > objectives[:20].mean() + 1


def test_padding_stays_zero_and_covariances_stay_beside_their_roots() -> None:
    parameters = Parameters(*trained(SETTINGS, (50,), threads=2)[: len(Parameters._fields)])
    for table, width in ((parameters.users, FACTORS), (parameters.offsets, ASPECTS)):
        assert not table[:, width:].any()
    for roots, covariances in (
        (parameters.user_roots, parameters.user_covariances),
        (parameters.item_roots, parameters.item_covariances),
    ):
        np.testing.assert_allclose(covariances, covariances_of(roots), atol=1e-5)


def test_nonnegative_factors_never_fall_below_zero() -> None:
    data, parameters = random_data(), random_parameters()
    for table in parameters[:3]:
        np.abs(table, out=table)
    settings = changed(nonnegative=True, learning_rate=0.5)
    run_iterations(
        data, parameters, empty_accumulators(parameters), random_prior(), settings, 0, 30
    )
    assert all((table >= 0).all() for table in parameters[:3])
    assert any((table == 0).any() for table in (parameters.users[:, :FACTORS],))


def test_a_strong_prior_pulls_every_covariance_to_its_mode() -> None:
    data = random_data()
    parameters = random_parameters()
    mode = 0.6 * np.eye(ASPECTS) + 0.4
    strength = 1e4
    prior = CovariancePrior(mode * (strength + ASPECTS + 1), strength)
    settings = changed(covariance_learning_rate=0.05)
    run_iterations(data, parameters, started(parameters), prior, settings, 0, 3_000)
    # A user without ratings is never drawn.
    has_ratings = np.diff(data.user_ptr) > 0
    for roots in (parameters.user_roots[has_ratings], parameters.item_roots):
        L = unpack(roots)
        np.testing.assert_allclose(L @ L.transpose(0, 2, 1) - mode, 0, atol=2e-3)


@pytest.mark.parametrize("family", [Gaussian(0.2), Student(4.0, 0.2)], ids=str)
def test_parameters_stay_finite_with_absurd_steps(family: Gaussian | Student) -> None:
    data, parameters = random_data(missing=0.3), random_parameters()
    settings = changed(learning_rate=1e3, covariance_learning_rate=1e3, family=family)
    run_iterations(
        data, parameters, empty_accumulators(parameters), random_prior(), settings, 0, 50
    )
    assert all(np.isfinite(table).all() for table in parameters)
    diagonals = np.diagonal(unpack(parameters.user_roots), axis1=1, axis2=2)
    assert (diagonals >= 0.999 * smallest_diagonal(random_prior(), settings)).all()


def test_a_hard_negative_has_a_higher_predicted_mean() -> None:
    """The harder the negatives, the lower the likelihood of the same pairs."""
    settings = [changed(rated_share=0.0, hard_negatives=hard) for hard in (1, 2, 8)]
    blind, hard, harder = (trained(s, (1,), threads=1)[-1][0, 0] for s in settings)
    assert blind > hard > harder


def test_a_batch_without_any_pair_changes_no_factor() -> None:
    values = np.full((2, ASPECTS), 3, dtype=np.float32)
    data = training_data(np.array([0, 2]), np.array([0, 1]), values, n_items=2)
    parameters = random_parameters()
    before = copied(parameters)
    objectives = run_iterations(
        data, parameters, started(parameters), random_prior(), SETTINGS, 0, 2
    )
    assert np.isnan(objectives).all()
    for ours, theirs in zip(parameters, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_pairs_need_two_items() -> None:
    with pytest.raises(DataError, match="two items"):
        training_data(np.array([0, 1]), np.array([0]), np.ones((1, 2), np.float32), n_items=1)


def test_threads_are_at_least_one() -> None:
    assert count_threads(None) >= 1
    with pytest.raises(ConfigError, match="threads=0"):
        count_threads(0)
