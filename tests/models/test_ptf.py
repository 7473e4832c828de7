"""PTF: what is particular to it."""

from dataclasses import replace

import numpy as np
import pytest

from dmrank import PTF, Ratings, make_ratings

PARAMETERS = {"factors": 4, "regularization": 2.0, "aspect_regularization": 0.05}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(80, 40, 1_200, missing=0.2, seed=1).ratings


def tensor(model: PTF) -> np.ndarray:
    """Return r̂ of all users, items and aspects, from the equation of the docstring."""
    U, V, W, m = (
        model.arrays[name].astype(np.float64) for name in ("users", "items", "aspects", "means")
    )
    return m + np.einsum("uf,if,kf->uik", U, V, W)


def objective(model: PTF, ratings: Ratings) -> float:
    U, V, W = (model.arrays[name].astype(np.float64) for name in ("users", "items", "aspects"))
    config, values = model.config, ratings.values
    centre = np.eye(config.factors)
    known = ~np.isnan(values)
    error = (values - tensor(model)[ratings.user_codes, ratings.item_codes])[known]
    priors = ((U - centre[0]) ** 2).sum() + ((V - centre[1]) ** 2).sum()
    of_aspects = known.sum(axis=0) @ ((W - 1) ** 2).sum(axis=1)
    return float(
        (error**2).sum()
        + config.regularization * priors
        + config.aspect_regularization * of_aspects
    )


def planted(users: int = 60, items: int = 50, share: float = 0.5, seed: int = 0):
    """Return a tensor of rank 2 on the scale 1–5, and ratings of a part of it."""
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(users, 2)), rng.normal(size=(items, 2))
    W = np.array([[1.0, 1.0], [1.5, 0.5], [0.5, -1.0]])
    truth = np.einsum("uf,if,kf->uik", U, V, W)
    truth = 3 + 2 * truth / np.abs(truth).max()
    rated = rng.random((users, items)) < share
    u, i = np.nonzero(rated)
    ratings = Ratings.from_arrays(
        [f"u{n:03}" for n in u], [f"i{n:03}" for n in i], truth[u, i],
        aspects=["a", "b", "c"], scale=(1, 5),
    )  # fmt: skip
    return truth, rated, ratings


def test_the_objective_is_that_of_the_docstring_and_never_rises(ratings: Ratings) -> None:
    assert np.isnan(ratings.values).any()
    observed = np.count_nonzero(~np.isnan(ratings.values))
    costs = []
    for sweeps in (1, 2, 3, 4):
        model = PTF(**PARAMETERS, iterations=sweeps).fit(ratings)
        costs.append(objective(model, ratings))
        assert -model.history.objective[-1] * observed == pytest.approx(costs[-1], rel=1e-5)
    assert costs == sorted(costs, reverse=True)
    history = PTF(**PARAMETERS, iterations=30).fit(ratings).history.objective
    assert (np.diff(history) > -1e-6).all()


def test_a_planted_tensor_is_recovered() -> None:
    truth, rated, ratings = planted()
    model = PTF(factors=4, regularization=1e-4, aspect_regularization=1e-4, iterations=200)
    found = tensor(model.fit(ratings))
    unrated = ~rated
    error = np.sqrt(((found - truth)[unrated] ** 2).mean())
    assert error < 0.02 * truth[unrated].std()


def test_predictions_are_the_equation(ratings: Ratings) -> None:
    model = PTF(**PARAMETERS, iterations=3).fit(ratings)
    raw = model.predict(ratings.users[5], list(ratings.items), raw=True)
    np.testing.assert_allclose(raw, tensor(model)[5], rtol=1e-5)
    np.testing.assert_allclose(
        model.predict(ratings.users[5], list(ratings.items)), np.clip(raw, 1, 5), rtol=1e-6
    )


def test_a_mix_of_aspects_ranks_by_the_mix_of_predictions(ratings: Ratings) -> None:
    model = PTF(**PARAMETERS, iterations=3).fit(ratings)
    service, value = ratings.aspects.index("service"), ratings.aspects.index("value")
    mixed = model.recommend(
        ratings.users[5], n=5, by={"value": 2, "service": 1}, exclude_seen=False
    )
    expected = np.sort(2 * tensor(model)[5, :, value] + tensor(model)[5, :, service])[::-1]
    np.testing.assert_allclose(mixed["score"], expected[:5], rtol=1e-5)


def test_a_missing_aspect_teaches_nothing_and_a_zero_does(ratings: Ratings) -> None:
    """A row whose every aspect is missing is a row that is not there."""
    values = ratings.values.copy()
    values[::4] = np.nan
    with_gaps = replace(ratings, values=values)
    without = with_gaps.select(np.flatnonzero(~np.isnan(values).all(axis=1)))
    one, two = (PTF(**PARAMETERS, iterations=5).fit(some) for some in (with_gaps, without))
    np.testing.assert_allclose(tensor(one), tensor(two), atol=1e-4)
    zero = PTF(**PARAMETERS, iterations=5, missing="zero").fit(with_gaps)
    assert tensor(zero).mean() < tensor(one).mean() - 0.5


def test_offsets_of_items_are_learned_with_a_single_factor() -> None:
    """With U around 1, one factor is enough for an item that everybody likes."""
    quality = np.linspace(-1.5, 1.5, 12)
    rng = np.random.default_rng(0)
    rows = [(u, i) for u in range(40) for i in rng.choice(12, 6, replace=False)]
    ratings = Ratings.from_arrays(
        [f"u{u:02}" for u, _ in rows], [f"i{i:02}" for _, i in rows],
        [[3 + quality[i]] * 2 for _, i in rows], aspects=["a", "b"], scale=(1, 5),
    )  # fmt: skip
    model = PTF(factors=1, regularization=1.0, aspect_regularization=0.1).fit(ratings)
    for user in ratings.users:
        order = model.recommend(user, n=12, exclude_seen=False)["item"].to_list()
        assert order == sorted(order, reverse=True)
