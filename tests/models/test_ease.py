"""EASE: what is particular to it."""

import numpy as np
import pytest

from dmrank import EASE, ConfigError, DataError, Ratings
from dmrank.models import ease
from dmrank.training.least_squares import item_regression


def rated_matrix(ratings: Ratings) -> np.ndarray:
    X = np.zeros((len(ratings.users), len(ratings.items)))
    X[ratings.user_codes, ratings.item_codes] = 1
    return X


@pytest.mark.parametrize("regularization", [0.5, 10.0, 300.0])
def test_each_column_is_a_ridge_regression_on_the_other_items(
    hotels: Ratings, regularization: float
) -> None:
    """The constraint diag(B) = 0 says: without the item itself."""
    X = rated_matrix(hotels)
    B = EASE(regularization=regularization).fit(hotels).arrays["weights"]
    assert B.dtype == np.float32
    for item in range(0, X.shape[1], 20):
        others = np.delete(np.arange(X.shape[1]), item)
        Z = X[:, others]
        expected = np.linalg.solve(Z.T @ Z + regularization * np.eye(len(others)), Z.T @ X[:, item])
        np.testing.assert_allclose(B[others, item], expected, atol=1e-5)
        assert B[item, item] == 0


def test_scores_are_what_was_rated_times_the_weights(hotels: Ratings) -> None:
    model = EASE(regularization=10).fit(hotels)
    expected = rated_matrix(hotels) @ model.arrays["weights"]
    users = np.arange(len(hotels.users))
    weights = np.zeros(len(hotels.aspects), dtype=np.float32)
    weights[:2] = 1, 2
    np.testing.assert_allclose(model.score_block(users, weights), 3 * expected, atol=1e-5)
    rng = np.random.default_rng(0)
    some_users = rng.choice(users, 10_000)
    some_items = rng.integers(len(hotels.items), size=10_000)
    pairs = model.score_pairs(some_users, some_items)
    np.testing.assert_allclose(pairs[:, 0], expected[some_users, some_items], atol=1e-6)
    np.testing.assert_array_equal(pairs, pairs[:, :1].repeat(len(hotels.aspects), axis=1))


def test_a_list_has_the_scores_of_its_pairs(hotels: Ratings) -> None:
    model = EASE().fit(hotels)
    table = model.recommend(list(hotels.users)[:5], n=10)
    pairs = model.predict(table["user"].to_list(), table["item"].to_list(), raw=True)
    slope = model.calibration.slope[hotels.aspects.index("overall")]
    np.testing.assert_allclose(table["score"], pairs[:, 0] * slope, rtol=1e-6)


def test_it_is_judged_once(hotels: Ratings) -> None:
    split = hotels.split()
    history = EASE().fit(split.train, validation=split.validation).history
    assert history.iterations == [1]
    assert 0 < history.validation[0] <= 1


def test_ratings_play_no_part(hotels: Ratings) -> None:
    table = hotels.to_polars()
    values = np.random.default_rng(0).integers(1, 6, hotels.values.shape).astype(np.float32)
    values[::3, 1:] = np.nan
    others = Ratings.from_arrays(
        table["user"], table["item"], values, aspects=hotels.aspects, scale=(1, 5)
    )
    one, two = (EASE().fit(ratings).arrays["weights"] for ratings in (hotels, others))
    np.testing.assert_array_equal(one, two)


def test_too_many_items_are_refused_before_memory_is_asked_for(
    hotels: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ease, "MOST_ITEMS", len(hotels.items) - 1)
    reason = rf"EASE of {len(hotels.items)} items needs .* GB .* k_core, or use IALS"
    with pytest.raises(DataError, match=reason):
        EASE().fit(hotels)


def test_too_little_regularization_is_refused() -> None:
    with pytest.raises(ConfigError, match="regularization=0"):
        EASE(regularization=0)
    # Two items with the same raters are two equal columns of X.
    twins = Ratings.from_arrays(
        ["a", "a", "b", "b", "c"], ["x", "y", "x", "y", "z"], [[3]] * 5, aspects=["r"]
    )
    with pytest.raises(ConfigError, match="regularization=1e-12 is lost .* at least 5e-07"):
        EASE(regularization=1e-12).fit(twins)


def test_a_matrix_without_inverse_is_refused() -> None:
    with pytest.raises(DataError, match="raise regularization"):
        item_regression._inverse(np.array([[1, 2], [2, 1]], dtype=np.float32))
