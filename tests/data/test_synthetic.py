"""Synthetic ratings follow the law they are said to follow."""

import numpy as np
import pytest
from scipy.stats import norm

from dmrank import ConfigError, make_ratings
from dmrank.data.hotel_names import hotel_names


def test_sizes_are_exact_and_every_user_rates_each_item_once() -> None:
    ratings = make_ratings(users=300, items=40, ratings=5_000, least_per_user=5, seed=3).ratings
    assert (len(ratings.users), len(ratings.items), len(ratings)) == (300, 40, 5_000)
    assert np.diff(ratings.user_pointer).min() >= 5
    assert np.diff(ratings.user_pointer).max() <= 40
    assert set(np.unique(ratings.values)) == {1, 2, 3, 4, 5}


def test_same_seed_same_ratings() -> None:
    one, same, other = (make_ratings(50, 20, 400, seed=seed).ratings for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_every_user_can_rate_every_item() -> None:
    assert len(make_ratings(users=6, items=5, ratings=30).ratings) == 30


def test_ratings_scatter_around_the_true_means_with_the_true_covariance() -> None:
    synthetic = make_ratings(
        users=800, items=200, ratings=80_000, aspects=["overall", "b", "c"],
        signal=0.8, noise=0.7, taste=0.0, concentration=1e6, seed=0,
    )  # fmt: skip
    ratings, truth = synthetic.ratings, synthetic.truth
    mean = truth.mean(ratings.user_codes, ratings.item_codes)
    covariance = truth.covariance(ratings.user_codes[:1], ratings.item_codes[:1])[0]
    for star in (2, 3, 4, 5):
        # A rating is rounded, so that it is at least s stars from s − ½ on.
        expected = norm.cdf((mean - (star - 0.5)) / np.sqrt(covariance.diagonal())).mean(axis=0)
        np.testing.assert_allclose((ratings.values >= star).mean(axis=0), expected, atol=0.015)
    # Far from the ends of the scale, rounding adds 1/12 to variances and nothing to covariances.
    central = (np.abs(mean - 3) < 0.6).all(axis=1)
    found = np.cov((ratings.values - mean)[central].T)
    np.testing.assert_allclose(found, covariance + np.eye(3) / 12, atol=0.04)


def test_taste_draws_users_to_items_they_will_like() -> None:
    def advantage(taste: float) -> float:
        synthetic = make_ratings(400, 200, 8_000, taste=taste, seed=5)
        ratings, truth = synthetic.ratings, synthetic.truth
        users = np.repeat(np.arange(400), 200)
        items = np.tile(np.arange(200), 400)
        everywhere = truth.mean(users, items)[:, 0] @ np.tile(truth.popularity, 400) / 400
        chosen = truth.mean(ratings.user_codes, ratings.item_codes)[:, 0].mean()
        return float(chosen - everywhere)

    assert advantage(2.0) > advantage(1.0) + 0.1 > 0.2
    assert abs(advantage(0.0)) < 0.1


def test_choice_follows_popularity_times_exp_of_taste() -> None:
    synthetic = make_ratings(
        users=20_000, items=6, ratings=20_000, aspects=["overall"], taste=1.5, signal=1.0,
        least_per_user=1, seed=11,
    )  # fmt: skip
    ratings, truth = synthetic.ratings, synthetic.truth
    users = np.repeat(np.arange(20_000), 6)
    items = np.tile(np.arange(6), 20_000)
    overall = np.clip(truth.mean(users, items)[:, 0], 1, 5).reshape(-1, 6)
    weights = truth.popularity * np.exp(1.5 * overall)
    expected = (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0)
    found = np.bincount(ratings.item_codes, minlength=6)
    # Five standard deviations of a binomial count.
    assert (np.abs(found - expected) < 5 * np.sqrt(expected)).all()


def test_covariances_average_to_the_prior_mean_and_spread_with_concentration() -> None:
    def spread(concentration: float) -> float:
        truth = make_ratings(4_000, 5, 4_000, concentration=concentration, seed=2).truth
        return float(truth.user_covariances.std(axis=0).mean())

    assert spread(20) > 2 * spread(200)
    truth = make_ratings(4_000, 5, 4_000, noise=0.8, seed=2).truth
    diagonal = truth.user_covariances.mean(axis=0).diagonal()
    np.testing.assert_allclose(diagonal, 0.64, rtol=0.05)


def test_missing_shares_per_aspect() -> None:
    ratings = make_ratings(
        100, 100, 5_000, aspects=["overall", "a", "b"], missing=[0, 0.5, 0.9]
    ).ratings
    np.testing.assert_allclose(np.isnan(ratings.values).mean(axis=0), [0, 0.5, 0.9], atol=0.03)
    one_share = make_ratings(100, 100, 5_000, aspects=["a", "overall"], missing=0.5).ratings
    np.testing.assert_allclose(np.isnan(one_share.values).mean(axis=0), [0.5, 0], atol=0.03)


def test_hotel_names_are_distinct() -> None:
    names = hotel_names(20_000)
    assert names.n_unique() == 20_000
    assert names.null_count() == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"users": 0}, "at least 1"),
        ({"ratings": 10, "users": 20}, "too few"),
        ({"users": 2, "items": 2, "ratings": 5}, "more than"),
        ({"concentration": 8}, "concentration"),
        ({"missing": 1.0}, "missing"),
        ({"correlation": 0.9}, "correlation"),
    ],
)
def test_impossible_requests_are_refused(options, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        make_ratings(**options)


@pytest.mark.parametrize("wrong", [{"aspects": []}, {"factors": 0}, {"factors": -1}])
def test_there_is_an_aspect_and_a_factor(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="at least one"):
        make_ratings(20, 10, 100, **wrong)


@pytest.mark.parametrize("size", [{"noise": 0}, {"noise": 1e300}, {"signal": -1}, {"signal": 1e66}])
def test_sizes_that_no_rating_has_are_refused(size: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"must be from .* to 1000 stars"):
        make_ratings(10, 5, 20, **size)
