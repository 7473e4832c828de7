"""MixedEffects: preference by aspect, what it can be asked, and data at the edges."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import ItemMean, MixedEffects, Ratings, make_ratings, read_ratings
from dmrank.evaluation import rated_pairs


@pytest.fixture(scope="module")
def split() -> dmrank.Split:
    return make_ratings(300, 80, 8_000, seed=1).ratings.split()


@pytest.fixture(scope="module")
def model(split: dmrank.Split) -> MixedEffects:
    return MixedEffects().fit(split.train, validation=split.validation)


def test_pairs_are_ordered_better_than_by_item_means(
    model: MixedEffects, split: dmrank.Split
) -> None:
    pairs = rated_pairs(split)
    assert pairs.accuracy(model).pooled > pairs.accuracy(ItemMean().fit(split.train)).pooled


def test_ratings_within_intervals_are_as_many_as_said(
    model: MixedEffects, split: dmrank.Split
) -> None:
    test = split.test.to_polars().drop("item_name")
    known = ~split.cold_rows(split.test)
    rows = test.filter(pl.Series(known))
    hidden = rows["service"].to_numpy()
    found = model.complete(rows.with_columns(service=pl.lit(None, dtype=pl.Float32)))
    away = np.abs(found["service"].to_numpy() - hidden) / found["service_sd"].to_numpy()
    assert 0.85 < (away < 1.645).mean() < 0.97


def test_a_user_folded_in_is_the_user_that_was_trained(split: dmrank.Split) -> None:
    model = MixedEffects(personal_strength=0).fit(split.train)
    user = split.train.users[7]
    rows = split.train.to_polars().filter(pl.col("user") == user)
    twin = rows.with_columns(user=pl.lit("twin")).drop("item_name")
    grown = model.fold_in(twin)
    code = grown.catalogue.users.code("twin")
    # The last round updates users before items and covariances: the twin sees these already.
    np.testing.assert_allclose(grown.arrays["users"][code], model.arrays["users"][7], atol=0.02)
    np.testing.assert_allclose(
        grown.arrays["user_covariances"][code], model.arrays["user_covariances"][7], atol=0.01
    )


def test_an_item_is_explained_by_what_sets_it_apart(model: MixedEffects) -> None:
    why = model.explain("u000003", "h000001", by="overall")
    relevance = why.table["relevance"].to_numpy()
    assert (np.diff(relevance) <= 0).all()
    assert len(relevance) == len(model.catalogue.aspects) - 1


def test_the_personal_part_moves_all_aspects_alike(split: dmrank.Split) -> None:
    plain = MixedEffects(personal_strength=0).fit(split.train)
    more = MixedEffects(personal_strength=0.7).fit(split.train)
    users, items = np.arange(50), np.arange(50) % 80
    moved = more.score_pairs(users, items) - plain.score_pairs(users, items)
    assert moved.std() > 0
    np.testing.assert_allclose(moved, np.repeat(moved[:, :1], moved.shape[1], axis=1), atol=1e-5)
    weights = more.weights({"value": 2, "service": 1})
    block = more.score_block(users, weights)[np.arange(50), items]
    np.testing.assert_allclose(block, more.score_pairs(users, items) @ weights, rtol=1e-5)


def test_a_personal_part_without_use_is_dropped() -> None:
    rng = np.random.default_rng(0)
    ratings = make_ratings(200, 50, 4_000, seed=2).ratings
    noise = Ratings.from_codes(
        ratings.users, ratings.items, ratings.user_codes, ratings.item_codes,
        rng.integers(1, 6, ratings.values.shape).astype(np.float32), aspects=ratings.aspects,
    )  # fmt: skip
    parts = noise.split()
    fitted = MixedEffects().fit(parts.train, validation=parts.validation)
    assert "personal_weights" not in fitted.arrays


def test_the_directions_of_items_are_drawn(model: MixedEffects, tmp_path: Path) -> None:
    model.plot_directions().savefig(tmp_path / "directions.png")
    assert (tmp_path / "directions.png").stat().st_size > 10_000


def edge(values: np.ndarray, aspects: list[str], users: int = 30, items: int = 12) -> Ratings:
    rows = len(values)
    rng = np.random.default_rng(3)
    pairs = rng.choice(users * items, size=rows, replace=False)
    names = [f"u{p // items}" for p in pairs], [f"i{p % items}" for p in pairs]
    return Ratings.from_arrays(*names, values, aspects=aspects)


RNG = np.random.default_rng(4)
STARS = RNG.integers(1, 6, (200, 3)).astype(float)
NEVER_TOGETHER = np.where((np.arange(200) % 2 == 0)[:, None], [1, 1, np.nan], [1, np.nan, 1])
EDGES = {
    "one aspect": edge(STARS[:, :1], ["overall"]),
    "a constant aspect": edge(np.column_stack([STARS[:, 0], np.full(200, 3.0)]), ["overall", "b"]),
    "aspects never rated together": edge(STARS * NEVER_TOGETHER, ["overall", "b", "c"]),
    "one rating per user": edge(STARS[:25], ["overall", "b", "c"], users=5_000, items=12),
    "all ratings equal": edge(np.full((200, 3), 4.0), ["overall", "b", "c"]),
    "forty aspects": edge(
        np.where(RNG.random((300, 40)) < 0.3, np.nan, RNG.integers(1, 6, (300, 40))),
        [f"a{k}" for k in range(40)],
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_odd_ratings_give_finite_answers(name: str) -> None:
    ratings = EDGES[name]
    model = MixedEffects(iterations=10).fit(ratings)
    assert all(np.isfinite(array).all() for array in model.arrays.values())
    user, items = ratings.users[0], list(ratings.items)[:3]
    assert np.isfinite(model.predict(user, items)).all()
    assert model.recommend(user, n=3, exclude_seen=False).height == 3
    compared = model.compare(user, items[0], items[1])
    assert compared.table["probability"].is_between(0.5, 1).all()


def test_implicit_feedback_is_one_constant_aspect() -> None:
    table = make_ratings(60, 20, 600, seed=1).ratings.to_polars().select("user", "item")
    ratings = read_ratings(table, aspects=[], verbose=False)
    model = MixedEffects(iterations=5).fit(ratings)
    assert np.isfinite(model.predict("u000003", "h000001")).all()
