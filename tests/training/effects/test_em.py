"""Crossed effects by EM: the equations, the bound, and what is recovered."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dmrank.training.data import TrainingData, training_data
from dmrank.training.effects.blocks import (
    Side,
    find_patterns,
    invert,
    precisions,
    update_effects,
)
from dmrank.training.effects.em import Effects, initial_effects, run_rounds
from dmrank.training.effects.noise_update import noise_prior, update_noise
from dmrank.training.effects.own_noise import OwnNoise, Posteriors, packed_matrix
from dmrank.training.effects.passes import PassesHere, crossed_ratings


def drawn(
    users: int = 80, items: int = 60, missing: float = 0.0, seed: int = 0
) -> tuple[TrainingData, dict[str, NDArray[np.float64]]]:
    """Draw ratings of the model itself: every user has rated half of the items."""
    rng = np.random.default_rng(seed)
    truth = {
        "user_prior": np.array([[0.5, 0.2, 0.1], [0.2, 0.4, 0.0], [0.1, 0.0, 0.3]]),
        "item_prior": np.array([[0.6, 0.3, -0.2], [0.3, 0.5, 0.0], [-0.2, 0.0, 0.4]]),
        "noise": np.array([[0.8, 0.4, 0.1], [0.4, 0.7, 0.2], [0.1, 0.2, 0.5]]),
    }
    a = rng.multivariate_normal(np.zeros(3), truth["user_prior"], size=users)
    b = rng.multivariate_normal(np.zeros(3), truth["item_prior"], size=items)
    rated = [np.sort(rng.choice(items, items // 2, replace=False)) for _ in range(users)]
    codes, row_users = np.concatenate(rated), np.repeat(np.arange(users), items // 2)
    noise = rng.multivariate_normal(np.zeros(3), truth["noise"], size=len(codes))
    values = (3 + a[row_users] + b[codes] + noise).astype(np.float32)
    values[rng.random(values.shape) < missing] = np.nan
    pointer = np.arange(users + 1) * (items // 2)
    data = training_data(pointer, codes.astype(np.int32), values, items)
    return data, truth | {"items": b, "users": a}


def started(data: TrainingData, threads: int | None = None) -> tuple[PassesHere, Effects]:
    sizes = len(data.user_ptr) - 1, len(data.item_counts)
    effects = initial_effects(data.values, *sizes, own_noise=True)
    return PassesHere(crossed_ratings(data), threads), effects


def fitted(
    data: TrainingData,
    rounds: int = 30,
    threads: int | None = None,
    noise_strength: float | None = None,
) -> Effects:
    """Run rounds with one noise and, with a strength, as many with a noise for each user."""
    passes, effects = started(data, threads)
    run_rounds(passes, effects, rounds)
    if noise_strength is not None:
        run_rounds(passes, effects, rounds, noise_strength)
    return effects


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_no_round_lowers_the_bound(missing: float) -> None:
    data, _ = drawn(missing=missing)
    bounds = run_rounds(*started(data), 25)
    assert (np.diff(bounds) > -1e-9).all()


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("strength", [3.0, 100.0])
def test_no_round_with_a_noise_for_each_user_lowers_the_bound(
    missing: float, strength: float
) -> None:
    data, _ = drawn(missing=missing)
    passes, effects = started(data)
    before = run_rounds(passes, effects, 10)
    own = run_rounds(passes, effects, 15, strength)
    # Covariances are kept in single precision.
    assert (np.diff([before[-1], *own]) > -1e-7).all()
    assert own[-1] > own[0] + 1e-3


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_planted_covariances_and_effects_are_found(missing: float) -> None:
    data, truth = drawn(users=300, items=200, missing=missing)
    effects = fitted(data, 40)
    assert np.corrcoef(effects.items.ravel(), truth["items"].ravel())[0, 1] > 0.97
    for name in ("user_prior", "item_prior", "noise"):
        np.testing.assert_allclose(getattr(effects, name), truth[name], atol=0.12)


def test_an_effect_has_the_posterior_of_the_dense_equations() -> None:
    """One user, three ratings with gaps, against N(0, Σ_a) conditioned on all of them at once."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(2, 3, 3))
    prior, noise = (x @ x.T + np.eye(3) for x in root)
    values = rng.normal(size=(3, 3)).astype(np.float32)
    values[0, 1] = values[2, 0] = values[2, 2] = np.nan
    patterns = find_patterns(values)
    effects, covariances = np.zeros((1, 3)), np.zeros((1, 6), dtype=np.float32)
    others = rng.normal(size=(3, 3))
    update_effects(
        effects, covariances, Side(np.array([0, 3]), np.arange(3), np.arange(3, dtype=np.int32)),
        values.astype(np.float64), others, patterns, noise=precisions(noise, patterns.present),
        prior=np.linalg.inv(prior), threads=1,
    )  # fmt: skip
    known = ~np.isnan(values).ravel()
    joint = (np.kron(np.eye(3), noise) + np.kron(np.ones((3, 3)), prior))[np.ix_(known, known)]
    across = np.tile(prior, (1, 3))[:, known]
    seen = (values - others).ravel()[known]
    np.testing.assert_allclose(effects[0], across @ np.linalg.solve(joint, seen), rtol=1e-6)
    expected = prior - across @ np.linalg.solve(joint, across.T)
    np.testing.assert_allclose(covariances[0], expected[np.tril_indices(3)], rtol=1e-5)


@pytest.mark.parametrize("noise_strength", [None, 20.0])
def test_the_number_of_threads_changes_no_bit(noise_strength: float | None) -> None:
    data, _ = drawn(missing=0.3)
    one, two = (fitted(data, 5, threads, noise_strength) for threads in (1, 2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("noise_strength", [None, 20.0])
def test_blocks_change_no_more_than_last_digits(
    noise_strength: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = drawn(missing=0.3)
    whole = fitted(data, 5, None, noise_strength)
    monkeypatch.setattr("dmrank.training.sums.BLOCK", 32)
    for one, other in zip(whole, fitted(data, 5, None, noise_strength), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_the_noise_of_a_user_has_the_moments_of_the_dense_equations() -> None:
    """One user, three ratings with gaps: (κ Σ_e + Σ E[e eᵀ]) / (κ + 3), worked out one by one."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(4, 3, 3))
    centre, sigma, spread_a, spread_b = (x @ x.T + np.eye(3) for x in root)
    values = rng.normal(size=(3, 3)).astype(np.float32)
    values[0, 1] = values[2, 0] = values[2, 2] = np.nan
    a, b = rng.normal(size=(1, 3)), rng.normal(size=(3, 3))
    moment = np.zeros((3, 3))
    for row, effect in zip(values.astype(np.float64), b, strict=True):
        e, on = (row - a[0] - effect), ~np.isnan(row)
        # N(0, Σ) given that its known aspects have mean e and covariance V.
        B = sigma[:, on] @ np.linalg.inv(sigma[np.ix_(on, on)])
        known = np.outer(e[on], e[on]) + (spread_a + spread_b)[np.ix_(on, on)]
        moment += B @ known @ B.T + sigma - B @ sigma[on]
    expected = (7 * centre + moment + 3e-4 * np.eye(3)) / (7 + 3)
    packed = packed_matrix(sigma)[None]
    side = Side(np.array([0, 3]), np.arange(3), np.arange(3, dtype=np.int32))
    update_noise(
        OwnNoise(packed, np.zeros(3, dtype=np.int32)), side, values.astype(np.float64),
        Posteriors(a, packed_matrix(spread_a)[None]),
        Posteriors(b, np.tile(packed_matrix(spread_b), (3, 1))), find_patterns(values),
        noise_prior(centre[None], np.array([7.0]), 1e-4), 1,
    )  # fmt: skip
    np.testing.assert_allclose(packed[0], expected[np.tril_indices(3)], rtol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_equal_noise_of_all_users_changes_no_effect(missing: float) -> None:
    """Updated by a Σ_u that is Σ_e, effects are those of one Σ_e."""
    data, _ = drawn(missing=missing)
    one, each = fitted(data, 5), fitted(data, 5)
    passes, _ = started(data)
    run_rounds(passes, one, 1)
    run_rounds(passes, each, 1, noise_strength=1e9)
    np.testing.assert_allclose(each.users, one.users, atol=1e-6)
    np.testing.assert_allclose(each.items, one.items, atol=1e-6)
    np.testing.assert_allclose(each.item_covariances, one.item_covariances, rtol=1e-4)


def test_a_small_matrix_is_inverted_with_its_determinant() -> None:
    root = np.random.default_rng(0).normal(size=(5, 5))
    matrix, inverse = root @ root.T + np.eye(5), np.empty((5, 5))
    expected = np.linalg.inv(matrix), np.linalg.slogdet(matrix)[1]
    assert invert(matrix, inverse) == pytest.approx(expected[1])
    np.testing.assert_allclose(inverse, expected[0], rtol=1e-10)
