"""Rows of lists: the probability of being liked better than the next one."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import special

from dmrank import DMR, Hurdle, ItemMean, MixedEffects, Model, make_ratings
from dmrank.answers.compare import mix_probabilities
from dmrank.answers.list_rows import ListRows, make_rows


def _rows(model: Model, mixes: list[list[float]]) -> ListRows:
    users = np.arange(len(mixes))
    padded = np.zeros((len(mixes), len(model.aspects)), dtype=np.float32)
    padded[:, : len(mixes[0])] = mixes
    return make_rows(model, users, padded, 6, model.catalogue.seen_by(users))


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(80, 30, 1_200, missing=0.2, seed=1).ratings


def test_by_one_aspect_it_is_the_probability_that_compare_gives(ratings) -> None:
    model = MixedEffects().fit(ratings)
    rows = _rows(model, [[1.0, 0.0], [0.0, 1.0]])
    for user, aspect in ((0, 0), (1, 1)):
        own = np.arange(rows.pointer[user], rows.pointer[user + 1])
        for first, second in pairwise(own):
            one, other = (model.items[int(rows.items[row])] for row in (first, second))
            compared = model.compare(model.users[user], one, other, pairs=1).table
            assert compared["better"][aspect] == one
            assert rows.better_than_next[first] == pytest.approx(compared["probability"][aspect])


def test_a_list_of_who_comes_says_also_that_the_next_is_liked_better(ratings) -> None:
    model = Hurdle(seed=1).fit(ratings)
    who_comes = _rows(model.with_preference(0.0), [[1.0, 0.0]] * 20).better_than_next
    liked = _rows(model.with_preference(1.0), [[1.0, 0.0]] * 20).better_than_next
    assert (who_comes < 0.5).any()
    assert (liked[~np.isnan(liked)] >= 0.5).all()


def test_the_size_of_a_mix_does_not_matter(ratings) -> None:
    model = Hurdle(seed=1).fit(ratings)
    one, ten = _rows(model, [[1.0, 2.0]]), _rows(model, [[10.0, 20.0]])
    np.testing.assert_array_equal(one.items, ten.items)
    np.testing.assert_allclose(one.better_than_next, ten.better_than_next, rtol=1e-6)
    np.testing.assert_allclose(one.contributions, ten.contributions, rtol=1e-4, atol=1e-6)


def test_a_model_without_covariances_cannot_tell(ratings) -> None:
    assert _rows(ItemMean().fit(ratings), [[1.0, 0.0]]).better_than_next is None


@pytest.mark.parametrize(
    "model",
    [
        DMR(iterations=50, user_weight=0.3, seed=1),
        DMR(iterations=50, covariance="shared", seed=1),
        DMR(iterations=50, covariance="identity", seed=1),
        MixedEffects(noise="user"),
        MixedEffects(noise="shared"),
        Hurdle(seed=1),
    ],
    ids=["personalized", "shared", "identity", "own noise", "shared noise", "hurdle"],
)
def test_the_probability_by_a_mix_is_that_of_the_covariances(model: Model, ratings) -> None:
    model = model.fit(ratings)
    rng = np.random.default_rng(0)
    users, first, second = (rng.integers(size, size=40) for size in (80, 30, 30))
    weights = rng.random((40, len(model.aspects)))
    sigma = model.pair_covariances(users, first, second)
    variance = np.array([w @ each @ w for w, each in zip(weights, sigma, strict=True)])
    difference = model.score_pairs(users, first) - model.score_pairs(users, second)
    found = mix_probabilities(model, users, first, second, difference, weights)
    mean = (weights * model.calibration.slope * difference).sum(axis=1)
    expected = special.ndtr(mean / np.sqrt(variance * model.calibration.order_factor))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.std() > 0.01
