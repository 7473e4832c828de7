"""Confidence of predicted orders, and probabilities against what happened."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from dmrank import DMR, ConfigError, Ratings, Split, make_ratings
from dmrank.evaluation import (
    OrderPairs,
    any_pairs,
    calibration_curve,
    confidence_levels,
    order_probability,
    pair_confidence,
    rated_pairs,
)

KINDS = ("personalized", "shared", "identity")


@pytest.fixture(scope="module")
def split() -> Split:
    made = make_ratings(150, 40, 3_000, aspects=["overall", "a", "b"], seed=2)
    return made.ratings.split(seed=1)


@pytest.fixture(scope="module")
def pairs(split: Split) -> OrderPairs:
    return rated_pairs(split)


@pytest.fixture(scope="module")
def models(split: Split) -> dict[str, DMR]:
    common = {"iterations": 300, "batch_size": 200, "rated_share": 0.5, "threads": 1}
    made = {kind: DMR(covariance=kind, **common) for kind in KINDS}
    made["student"] = DMR(family="student", degrees_of_freedom=4, **common)
    return {name: model.fit(split.train) for name, model in made.items()}


def with_observed(observed: np.ndarray, train: Ratings) -> OrderPairs:
    zeros = np.zeros(len(observed), dtype=np.int64)
    return OrderPairs.from_pairs(zeros, zeros, zeros + 1, np.asarray(observed, dtype=float), train)


def covariance_of_pair(model: DMR, pairs: OrderPairs, n: int) -> np.ndarray:
    user, first, second = (
        np.array([codes[n]]) for codes in (pairs.users, pairs.first, pairs.second)
    )
    return (model.covariances(user, first) + model.covariances(user, second))[0]


# Confidence.


@pytest.mark.parametrize("name", [*KINDS, "student"])
def test_confidence_is_the_integral_of_the_density_along_the_predicted_direction(
    models: dict[str, DMR], pairs: OrderPairs, name: str
) -> None:
    model = models[name]
    sure, mean = pair_confidence(model, pairs), pairs.predicted(model)
    for n in (0, len(pairs) // 2):
        covariance = covariance_of_pair(model, pairs, n)
        if name == "identity":
            np.testing.assert_array_equal(covariance, 2 * np.eye(3))
        density = (
            stats.multivariate_t(mean[n], covariance, df=4)
            if name == "student"
            else stats.multivariate_normal(mean[n], covariance)
        )
        direction = mean[n] / np.linalg.norm(mean[n])
        wanted, _ = integrate.quad(lambda g: density.pdf(g * direction), 0, np.inf)  # noqa: B023
        assert sure[n] == pytest.approx(wanted, rel=1e-5)


def test_no_predicted_direction_has_no_confidence(split: Split, pairs: OrderPairs) -> None:
    model = DMR(iterations=1, covariance="identity", threads=1).fit(split.train)
    model.arrays["items"] = np.zeros_like(model.arrays["items"])
    assert (pair_confidence(model, pairs) == 0).all()


def test_confidence_of_as_many_pairs_as_in_the_paper_takes_seconds() -> None:
    aspects = ["overall", *"abcdefgh"]
    split = make_ratings(200, 100, 4_000, aspects=aspects, seed=4).ratings.split()
    model = DMR(iterations=1, threads=1).fit(split.train)
    many = any_pairs(split)
    started = time.perf_counter()
    assert len(pair_confidence(model, many)) == 150_000
    assert time.perf_counter() - started < 10


# Levels.


def test_levels_by_hand(split: Split) -> None:
    observed = np.array([[1.0, 1.0], [1.0, 0.0], [-1.0, np.nan], [1.0, 1.0]])
    predicted = np.array([[1.0, -1.0], [2.0, 1.0], [1.0, 1.0], [3.0, 0.5]])
    sure = np.array([0.2, 0.3, 0.1, 0.4])
    levels = confidence_levels(sure, with_observed(observed, split.train), predicted, levels=2)
    # By confidence: 0 of 1 and 1 of 2 right; 1 of 1 and 2 of 2 right.
    np.testing.assert_allclose(levels.accuracy, [1 / 3, 1])
    np.testing.assert_allclose(levels.confidence, [0.15, 0.35])
    assert levels.pairs.tolist() == [2, 2]
    assert levels.rank_correlation == pytest.approx(1)
    assert levels.pair_correlation == pytest.approx(stats.spearmanr(sure, [0.5, 1, 0, 1])[0])


def test_levels_are_equal_groups(models: dict[str, DMR], pairs: OrderPairs) -> None:
    model = models["personalized"]
    sure, predicted = pair_confidence(model, pairs), pairs.predicted(model)
    levels = confidence_levels(sure, pairs, predicted)
    assert len(levels.accuracy) == 10
    assert levels.pairs.sum() == len(pairs)
    assert np.ptp(levels.pairs) <= 1
    assert (np.diff(levels.confidence) >= 0).all()
    wanted = stats.spearmanr(np.arange(10), levels.accuracy)[0]
    assert levels.rank_correlation == pytest.approx(wanted)
    whole = confidence_levels(sure, pairs, predicted, levels=2)
    weights = [
        (np.nan_to_num(pairs.observed[half]) != 0).sum()
        for half in np.split(np.argsort(sure, kind="stable"), [len(sure) // 2])
    ]
    pooled = np.average(whole.accuracy, weights=weights)
    assert pooled == pytest.approx(pairs.accuracy(model).pooled)


def test_what_does_not_vary_has_no_rank_correlation(split: Split) -> None:
    same = with_observed(np.ones((4, 2)), split.train)
    levels = confidence_levels(np.arange(4.0), same, np.ones((4, 2)), levels=2)
    assert levels.accuracy.tolist() == [1, 1]
    assert np.isnan([levels.rank_correlation, levels.pair_correlation]).all()
    ties = with_observed(np.zeros((1, 2)), split.train)
    nothing = confidence_levels(np.ones(1), ties, np.ones((1, 2)), levels=3)
    assert np.isnan(nothing.accuracy).all()
    assert nothing.pairs.sum() == 1


# Probabilities.


@pytest.mark.parametrize("name", ["personalized", "student"])
def test_the_two_orders_have_probability_1_together(
    models: dict[str, DMR], pairs: OrderPairs, name: str
) -> None:
    swapped = replace(pairs, first=pairs.second, second=pairs.first)
    one, other = (order_probability(models[name], asked) for asked in (pairs, swapped))
    np.testing.assert_allclose(one + other, 1)


@pytest.mark.parametrize("name", [*KINDS, "student"])
def test_the_probability_of_an_order_is_that_of_the_calibrated_model(
    models: dict[str, DMR], pairs: OrderPairs, name: str
) -> None:
    model, n = models[name], 5
    found = order_probability(model, pairs)
    ids = [
        split_ids.names(codes[n : n + 1]).to_list()
        for split_ids, codes in (
            (model.catalogue.users, pairs.users),
            (model.catalogue.items, pairs.first),
            (model.catalogue.items, pairs.second),
        )
    ]
    slope = model.calibration.slope
    factor = model.calibration.order_factor
    raw = [model.predict(ids[0], item, raw=True)[0] for item in ids[1:]]
    mean = slope * (raw[0] - raw[1])
    spread = np.sqrt(factor * np.diagonal(covariance_of_pair(model, pairs, n)))
    degrees = 4 if name == "student" else np.inf
    np.testing.assert_allclose(found[n], stats.t.cdf(mean / spread, degrees), rtol=1e-4)
    assert found.shape == pairs.observed.shape
    np.testing.assert_array_equal(found > 0.5, pairs.predicted(model) > 0)


def test_a_curve_by_hand() -> None:
    probability = np.array([[0.0, 0.05], [0.55, 0.59], [1.0, 0.2]])
    observed = np.array([[-1.0, 1.0], [2.0, np.nan], [0.5, 0.0]])
    curve = calibration_curve(probability, observed)
    assert curve.counts.tolist() == [2, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    np.testing.assert_allclose(curve.predicted[[0, 5, 9]], [0.025, 0.55, 1])
    np.testing.assert_allclose(curve.observed[[0, 5, 9]], [0.5, 1, 1])
    assert np.isnan(curve.predicted[curve.counts == 0]).all()
    assert np.isnan(curve.observed[curve.counts == 0]).all()
    assert curve.error == pytest.approx((2 * 0.475 + 0.45 + 0) / 4)


def test_true_probabilities_are_calibrated() -> None:
    rng = np.random.default_rng(0)
    probability = rng.random((40_000, 2))
    came_true = rng.random(probability.shape) < probability
    assert calibration_curve(probability, np.where(came_true, 1.0, -1.0)).error < 0.01
    assert calibration_curve(1 - probability, np.where(came_true, 1.0, -1.0)).error > 0.4


def test_without_an_observed_order_there_is_no_error() -> None:
    curve = calibration_curve(np.array([0.5, 0.7]), np.array([0.0, np.nan]))
    assert np.isnan(curve.error)
    assert curve.counts.sum() == 0


def test_too_few_groups_are_refused(split: Split) -> None:
    pairs = with_observed(np.ones((2, 2)), split.train)
    with pytest.raises(ConfigError, match="at least two groups"):
        confidence_levels(np.ones(2), pairs, np.ones((2, 2)), levels=1)
    with pytest.raises(ConfigError, match="at least one bin"):
        calibration_curve(np.ones(2), np.ones(2), bins=0)
