"""EASE: what is particular to it."""

from pathlib import Path

import numpy as np
import pytest

import dmrank
from dmrank import EASE, ConfigError, DataError, Ratings
from dmrank.fitted.files import write_model
from dmrank.models import ease
from dmrank.training.least_squares import item_regression

#: EASE as it was published.
PLAIN = {"activity_exponent": 0.0, "dropout": 0.0}


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
    B = EASE(regularization=regularization, **PLAIN).fit(hotels).arrays["weights"]
    assert B.dtype == np.float32
    for item in range(0, X.shape[1], 20):
        others = np.delete(np.arange(X.shape[1]), item)
        Z = X[:, others]
        expected = np.linalg.solve(Z.T @ Z + regularization * np.eye(len(others)), Z.T @ X[:, item])
        np.testing.assert_allclose(B[others, item], expected, atol=1e-5)
        assert B[item, item] == 0


@pytest.mark.parametrize(("a", "p"), [(0.5, 0.0), (0.0, 0.4), (0.75, 0.2)])
def test_users_are_weighted_and_ratings_dropped(hotels: Ratings, a: float, p: float) -> None:
    X = rated_matrix(hotels)
    n = X.sum(axis=1)
    w = np.where(n > 0, np.maximum(n, 1) ** -a, 0)
    w /= w[n > 0].mean()
    G = (X.T * w) @ X
    P = np.linalg.inv(G + 10 * np.eye(len(G)) + p / (1 - p) * np.diag(np.diag(G)))
    expected = -P / np.diag(P)
    np.fill_diagonal(expected, 0)
    model = EASE(regularization=10, activity_exponent=a, dropout=p).fit(hotels)
    np.testing.assert_allclose(model.arrays["weights"], expected, atol=1e-5)


def test_dropout_is_the_mean_over_dropped_ratings() -> None:
    """Λ comes from learning X by an X of which ratings are dropped, the rest scaled up."""
    rng = np.random.default_rng(0)
    X = (rng.random((30, 5)) < 0.4).astype(float)
    X[:, 0] = 1
    ratings = Ratings.from_arrays(
        *(np.argwhere(X).T.astype(str)), np.full((int(X.sum()), 1), 3.0), aspects=["r"]
    )
    copies = np.tile(X, (20_000, 1))
    dropped = copies * (rng.random(copies.shape) >= 0.3) / 0.7
    others = np.arange(1, 5)
    Z = dropped[:, others]
    expected = np.linalg.solve(Z.T @ Z / 20_000 + 2 * np.eye(4), Z.T @ copies[:, 0] / 20_000)
    B = EASE(regularization=2, activity_exponent=0, dropout=0.3).fit(ratings).arrays["weights"]
    np.testing.assert_allclose(B[others, 0], expected, atol=3e-3)


def test_users_without_ratings_do_not_change_the_weight_of_others(hotels: Ratings) -> None:
    some = hotels.select(np.flatnonzero(hotels.user_codes % 3 > 0))
    table = some.to_polars()
    alone = Ratings.from_arrays(
        table["user"], table["item"], some.values, aspects=some.aspects, scale=some.scale
    )
    one, two = (EASE().fit(ratings) for ratings in (some, alone))
    users = list(alone.users)[:5]
    assert (
        one.recommend(users, n=5)
        .drop("item_name", strict=False)
        .equals(two.recommend(users, n=5).drop("item_name", strict=False))
    )


@pytest.mark.parametrize(
    "bad",
    [{"dropout": 1.0}, {"dropout": -0.1}, {"activity_exponent": 1.5}, {"weights_per_item": 0}],
)
def test_bad_values_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(bad))}=.*it must be"):
        EASE(**bad)


def dense_of(model: EASE, items: int) -> np.ndarray:
    arrays = model.arrays
    B = np.zeros((items, items), dtype=np.float32)
    rows = np.repeat(np.arange(items), np.diff(arrays["weights_pointer"]))
    B[rows, arrays["weights_items"]] = arrays["weights_values"]
    return B


def test_pruning_keeps_the_largest_weights_of_each_column(
    hotels: Ratings, capsys: pytest.CaptureFixture[str]
) -> None:
    dense = EASE().fit(hotels).arrays["weights"]
    pruned = dense_of(EASE(weights_per_item=7).fit(hotels), len(dense))
    for column, kept in zip(dense.T, pruned.T, strict=True):
        assert np.count_nonzero(kept) == 7
        np.testing.assert_array_equal(kept[kept != 0], column[kept != 0])
        assert np.abs(column[kept == 0]).max() <= np.abs(kept[kept != 0]).min()
    lost = 1 - np.square(pruned, dtype=float).sum() / np.square(dense, dtype=float).sum()
    assert 0 < lost < 1
    assert f"have {lost:.2%} of the sum of squares" in capsys.readouterr().err


def test_pruning_that_keeps_everything_changes_no_score(hotels: Ratings) -> None:
    models = EASE().fit(hotels), EASE(weights_per_item=10_000).fit(hotels)
    users = np.arange(len(hotels.users))
    one = np.eye(len(hotels.aspects), dtype=np.float32)[0]
    whole, pruned = (model.score_block(users, one) for model in models)
    np.testing.assert_array_equal(whole, pruned)


@pytest.mark.parametrize("threads", [1, 3])
def test_pruned_weights_score_alike_by_lists_and_pairs(hotels: Ratings, threads: int) -> None:
    model = EASE(weights_per_item=7, threads=threads).fit(hotels)
    expected = rated_matrix(hotels) @ dense_of(model, len(hotels.items)).astype(float)
    users = np.arange(len(hotels.users))
    one = np.eye(len(hotels.aspects), dtype=np.float32)[0]
    block = model.score_block(users, one)
    np.testing.assert_allclose(block, expected, atol=1e-6)
    rng = np.random.default_rng(0)
    some_users = rng.choice(users, 10_000)
    some_items = rng.integers(len(hotels.items), size=10_000)
    pairs = model.score_pairs(some_users, some_items)
    np.testing.assert_array_equal(pairs[:, 0], block[some_users, some_items])


def test_a_pruned_model_has_a_smaller_file_with_the_same_lists(
    hotels: Ratings, tmp_path: Path
) -> None:
    dense, pruned = EASE().fit(hotels), EASE(weights_per_item=3).fit(hotels)
    sizes = [
        model.save(tmp_path / name).stat().st_size for name, model in (("d", dense), ("p", pruned))
    ]
    assert sizes[1] < sizes[0]
    opened = dmrank.load(tmp_path / "p")
    users = list(hotels.users)[:5]
    assert opened.recommend(users).equals(pruned.recommend(users))


def test_a_file_of_before_is_of_plain_ease(hotels: Ratings, tmp_path: Path) -> None:
    model = EASE(regularization=10, **PLAIN).fit(hotels)
    config = model.config.model_dump(mode="json")
    for name in ("activity_exponent", "dropout", "weights_per_item"):
        del config[name]
    opened = dmrank.load(write_model(model, config, tmp_path / "old"))
    assert opened.config == model.config
    users = list(hotels.users)[:5]
    assert opened.recommend(users).equals(model.recommend(users))


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
        EASE(regularization=1e-12, **PLAIN).fit(twins)


def test_a_matrix_without_inverse_is_refused() -> None:
    with pytest.raises(DataError, match="raise regularization"):
        item_regression._inverse(np.array([[1, 2], [2, 1]], dtype=np.float32))
