"""Calibration: from scores of arbitrary level and scale to ratings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import DMR, make_ratings
from dmrank.fitted.calibration import covariance_factor, order_factor
from dmrank.fitted.score_regression import ScoredRatings, calibrate, whole_users
from dmrank.training.sums import BLOCK


def _problem(seed: int = 0, missing: float = 0.0):
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(200), 30)
    truth = rng.normal(3, 0.7, (len(users), 2)).astype(np.float32)
    level = rng.normal(0, 5, 200).astype(np.float32)
    scores = (truth - 3) * [0.5, 2.0] + level[users][:, None]
    ratings = truth + rng.normal(0, 0.2, truth.shape)
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return users, scores.astype(np.float32), ratings.astype(np.float32)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_slope_is_that_within_users(missing: float) -> None:
    users, scores, ratings = _problem(missing=missing)
    slope = calibrate(ScoredRatings(users, scores, ratings), 200).slope
    np.testing.assert_allclose(slope, [2.0, 0.5], rtol=0.05)


def test_a_users_offset_takes_up_the_level_of_the_scores() -> None:
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(200), 30)
    scores = rng.normal(0, 0.7, (len(users), 2)).astype(np.float32)
    leniency = rng.normal(0, 0.5, 200)
    ratings = (scores + 3 + leniency[users][:, None]).astype(np.float32)
    calibration = calibrate(ScoredRatings(users, scores, ratings), 200)
    np.testing.assert_allclose(calibration.intercept, 3 + leniency.mean(), atol=0.05)
    assert np.corrcoef(calibration.offset, leniency)[0, 1] > 0.99
    assert np.abs(calibration(users, scores) - ratings).mean() < 0.1


def test_users_without_ratings_have_no_offset() -> None:
    users, scores, ratings = _problem()
    assert calibrate(ScoredRatings(users, scores, ratings), 250).offset[200:].tolist() == [0] * 50


def test_rows_of_several_blocks_have_the_slopes_of_all_at_once() -> None:
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(30_000), rng.integers(0, 10, 30_000))
    scores = rng.normal(size=(len(users), 2)).astype(np.float32)
    ratings = (3 + scores * [0.5, 2.0] + rng.normal(0, 0.3, scores.shape)).astype(np.float32)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    assert len(users) > 2 * BLOCK
    found = calibrate(ScoredRatings(users, scores, ratings), 30_000)
    for k in range(2):
        known = ~np.isnan(ratings[:, k])
        own, x, y = users[known], scores[known, k].astype(float), ratings[known, k].astype(float)
        counts = np.bincount(own, minlength=30_000)
        dx, dy = (each - (np.bincount(own, each) / np.maximum(counts, 1)[: own[-1] + 1])[own]
                  for each in (x, y))  # fmt: skip
        assert found.slope[k] == pytest.approx(float(dx @ dy / (dx @ dx)), rel=1e-6)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 10))
def test_blocks_of_rows_have_whole_users(gaps: list[int], most: int) -> None:
    users = np.cumsum(np.array(gaps, dtype=np.int64))
    cut = list(whole_users(users, most))
    assert [0, *(rows.stop for rows in cut)] == [*(rows.start for rows in cut), len(users)]
    for rows in cut:
        own = users[rows]
        assert len(own) <= most or len(set(own.tolist())) == 1
        assert rows.stop == len(users) or users[rows.stop] != own[-1]


def test_the_factor_is_what_the_covariance_was_too_small_by() -> None:
    rng = np.random.default_rng(2)
    root = rng.standard_normal((3, 3)) + 2 * np.eye(3)
    residuals = 1.5 * rng.standard_normal((5_000, 3)) @ root.T
    residuals[rng.random(residuals.shape) < 0.3] = np.nan
    factor = covariance_factor(residuals, np.tile(root @ root.T, (5_000, 1, 1)))
    assert factor[0] == pytest.approx(2.25, rel=0.05)


@pytest.mark.parametrize("covariance", ["personalized", "shared", "identity"])
def test_a_fitted_model_knows_how_far_off_it_is(covariance: str) -> None:
    ratings = make_ratings(200, 50, 6_000, seed=3).ratings
    model = DMR(iterations=500, evaluate_every=250, rated_share=1.0, covariance=covariance).fit(
        ratings
    )
    users, items = ratings.user_codes, ratings.item_codes
    residual = ratings.values - model.predict(
        list(ratings.users.names(users)), list(ratings.items.names(items))
    )
    sigma = model.calibration.covariance_factor * model.covariances(users, items)
    distance = (residual * np.linalg.solve(sigma, residual[:, :, None])[:, :, 0]).sum(axis=1)
    assert distance.mean() / 8 == pytest.approx(1, abs=0.1)


def _held_out_problem(seed: int = 0) -> tuple[ScoredRatings, ScoredRatings]:
    """Scores that follow training ratings closely, and others by half."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(200), 30)
    truth = rng.normal(0, 0.7, (len(users), 2))
    noise = rng.normal(0, 0.7, truth.shape)
    ratings = (3 + truth).astype(np.float32)
    trained = ScoredRatings(users, truth.astype(np.float32), ratings)
    return trained, ScoredRatings(users, (truth + noise).astype(np.float32), ratings)


def test_slopes_are_learned_on_rows_that_were_not_trained_on() -> None:
    trained, held_out = _held_out_problem()
    alone, both = calibrate(trained, 200), calibrate(trained, 200, held_out)
    np.testing.assert_allclose(alone.slope, 1.0, rtol=0.05)
    np.testing.assert_allclose(both.slope, 0.5, rtol=0.05)
    error = {
        name: np.square(one(held_out.users, held_out.scores) - held_out.ratings).mean()
        for name, one in (("alone", alone), ("both", both))
    }
    assert error["both"] < 0.6 * error["alone"]


def test_held_out_rows_change_all_slopes_by_one_number() -> None:
    trained, held_out = _held_out_problem()
    worse = held_out._replace(scores=held_out.scores * np.float32([1, 3]))
    alone, both = calibrate(trained, 200), calibrate(trained, 200, worse)
    ratio = both.slope / alone.slope
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-5)


def test_a_few_held_out_rows_are_ignored() -> None:
    trained, held_out = _held_out_problem()
    few = ScoredRatings(*(array[:100] for array in held_out))
    np.testing.assert_array_equal(calibrate(trained, 200, few).slope, calibrate(trained, 200).slope)


@pytest.mark.parametrize("degrees_of_freedom", [None, 5.0])
def test_the_order_factor_makes_probabilities_come_true(degrees_of_freedom) -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(20_000, 2))
    noise = rng.normal(size=mean.shape) if degrees_of_freedom is None else rng.standard_t(
        degrees_of_freedom, size=mean.shape
    )  # fmt: skip
    observed = mean + 1.5 * noise
    observed[rng.random(mean.shape) < 0.2] = np.nan
    observed[rng.random(mean.shape) < 0.1] = 0
    factor = order_factor(observed, mean, degrees_of_freedom)
    assert factor[0] == pytest.approx(2.25, rel=0.1)
    assert order_factor(observed[:50], mean[:50], degrees_of_freedom) is None


@pytest.mark.parametrize("options", [{}, {"family": "student"}, {"covariance": "identity"}])
def test_validation_changes_ratings_but_no_ranking(options) -> None:
    split = make_ratings(200, 50, 6_000, seed=3).ratings.split(seed=0)
    # One look, at the end: validation stops nothing.
    settings = {
        "iterations": 200, "evaluate_every": 200, "first_look": None, "rated_share": 0.5,
        "threads": 1,
    }  # fmt: skip
    alone = DMR(**settings, **options).fit(split.train)
    both = DMR(**settings, **options).fit(split.train, validation=split.validation)
    users, items = list(split.train.users)[:20], list(split.train.items)[:20]
    np.testing.assert_array_equal(
        both.predict(users, items, raw=True), alone.predict(users, items, raw=True)
    )
    for by in ("service", {"value": 2, "service": 1}):
        one, other = (model.recommend(users, n=10, by=by) for model in (alone, both))
        assert one["item"].to_list() == other["item"].to_list()
    assert not np.array_equal(both.predict(users, items), alone.predict(users, items))
