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


@pytest.fixture(scope="module")
def busy(split: dmrank.Split) -> int:
    """Return the code of the user with the most ratings."""
    return int(np.diff(split.train.user_pointer).argmax())


def twin_of(split: dmrank.Split, code: int) -> pl.DataFrame:
    """Return the ratings of a user under another name."""
    rows = split.train.to_polars().filter(pl.col("user") == split.train.users[code])
    return rows.with_columns(user=pl.lit("twin")).drop("item_name")


@pytest.mark.parametrize("noise", ["user", "shared"])
def test_a_user_folded_in_is_the_user_that_was_trained(
    split: dmrank.Split, busy: int, noise: str
) -> None:
    model = MixedEffects(personal_strength=0, noise=noise).fit(split.train)
    grown = model.fold_in(twin_of(split, busy))
    code = grown.catalogue.users.code("twin")
    # The last round updates users before items and covariances: the twin sees these already.
    np.testing.assert_allclose(grown.arrays["users"][code], model.arrays["users"][busy], atol=0.02)
    np.testing.assert_allclose(
        grown.arrays["user_covariances"][code], model.arrays["user_covariances"][busy], atol=0.01
    )
    pair = np.array([busy, code]), np.array([3, 3])
    trained, folded = grown.covariances(*pair)
    np.testing.assert_allclose(folded, trained, atol=0.01)


def test_a_rating_that_is_changed_over_and_over_makes_nobody_surer(
    split: dmrank.Split, busy: int
) -> None:
    model = view = MixedEffects(personal_strength=0, noise="shared").fit(split.train)
    again = twin_of(split, busy).with_columns(user=pl.lit(split.train.users[busy]))[:1]
    for _ in range(20):
        view = view.fold_in(again)
    before, after = (m.arrays["user_covariances"][busy] for m in (model, view))
    # Ratings that lack aspects say less than the average one, of which this one takes the place.
    np.testing.assert_allclose(after, before, rtol=0.05, atol=1e-4)


def test_a_user_folded_in_has_a_personal_part(split: dmrank.Split, busy: int) -> None:
    model = MixedEffects(personal_strength=0.7).fit(split.train)
    plain = model.with_state(
        model.catalogue,
        {name: rows for name, rows in model.arrays.items() if not name.startswith("personal")},
        model.calibration,
    )
    items = np.arange(len(split.train.items))

    def personal(of: MixedEffects, without: MixedEffects, code: int) -> np.ndarray:
        pairs = np.full(len(items), code), items
        return (of.score_pairs(*pairs) - without.score_pairs(*pairs))[:, 0]

    twin = twin_of(split, busy)
    grown, plain_grown = model.fold_in(twin), plain.fold_in(twin)
    code = grown.catalogue.users.code("twin")
    own = personal(model, plain, busy)
    assert own.std() > 0.01
    np.testing.assert_allclose(personal(grown, plain_grown, code), own, atol=0.1 * own.std())
    weights = grown.weights("value")
    block = grown.score_block(np.array([busy, code]), weights)
    np.testing.assert_allclose(block[1], block[0], atol=0.02)
    np.testing.assert_allclose(block[1], grown.score_pairs(items * 0 + code, items) @ weights, 1e-5)


def test_new_ratings_of_a_known_user_join_those_before(split: dmrank.Split, busy: int) -> None:
    """In two parts, the second folded in, a user is nearly who they are with all ratings."""
    model = MixedEffects(personal_strength=0.7).fit(split.train)
    twin = twin_of(split, busy)
    whole = model.fold_in(twin)
    parts = model.fold_in(twin[:-3]).fold_in(twin[-3:])
    first = model.fold_in(twin[:-3])
    code, items = whole.catalogue.users.code("twin"), np.arange(len(split.train.items))
    scores = [of.score_pairs(items * 0 + code, items) for of in (first, parts, whole)]
    assert np.abs(scores[1] - scores[2]).mean() < 0.5 * np.abs(scores[0] - scores[2]).mean()
    noise = [of.arrays["user_noise"][code] for of in (first, parts, whole)]
    assert np.abs(noise[1] - noise[2]).max() < 0.5 * np.abs(noise[0] - noise[2]).max()


def test_new_ratings_of_a_known_item_join_those_before(split: dmrank.Split) -> None:
    model = MixedEffects(personal_strength=0).fit(split.train)
    rows = split.train.to_polars().filter(pl.col("item") == split.train.items[3])
    twin = rows.with_columns(item=pl.lit("twin")).drop("item_name")
    first = model.fold_in(twin[:-5], of="items")
    parts, whole = first.fold_in(twin[-5:], of="items"), model.fold_in(twin, of="items")
    np.testing.assert_allclose(parts.arrays["items"][-1], whole.arrays["items"][-1], atol=1e-3)
    assert np.abs(first.arrays["items"][-1] - whole.arrays["items"][-1]).max() > 1e-2


def test_a_new_item_has_no_personal_part(split: dmrank.Split) -> None:
    model = MixedEffects(personal_strength=0.7).fit(split.train)
    raters = list(split.train.users)[:6]
    stars = {aspect: [5, 4, 5, 4, 5, 3] for aspect in split.train.aspects}
    grown = model.fold_in(pl.DataFrame({"user": raters, "item": "new"} | stars), of="items")
    code, users = grown.catalogue.items.code("new"), np.arange(20)
    expected = grown.arrays["users"][:20] + grown.arrays["items"][code]
    np.testing.assert_allclose(grown.score_pairs(users, users * 0 + code), expected, rtol=1e-5)
    block = grown.score_block(users, grown.weights("overall"))
    np.testing.assert_allclose(block[:, code], expected[:, 0], rtol=1e-5)
    after = pl.DataFrame({"user": ["late"], "item": ["new"]} | {a: [5] for a in stars})
    assert np.isfinite(grown.fold_in(after).predict("late", list(split.train.items))).all()


def test_noise_is_that_of_the_user() -> None:
    """Of two kinds of users one rates at random: their orders are less sure, their noise larger."""
    rng = np.random.default_rng(5)
    users, items = np.divmod(np.arange(60 * 40), 40)
    quality = rng.normal(size=(40, 2))
    spread = np.where(users % 2 == 0, 0.1, 1.0)[:, None]
    values = 3 + 0.5 * quality[items] + spread * rng.normal(size=(len(users), 2))
    ratings = Ratings.from_arrays(
        [f"u{u:02}" for u in users], [f"i{i:02}" for i in items], np.clip(values, 1, 5),
        aspects=["overall", "b"], scale=(1, 5),
    )  # fmt: skip
    model = MixedEffects(noise_strength=10.0).fit(ratings)
    pairs = np.arange(60), np.zeros(60, dtype=np.int64)
    variance = model.covariances(*pairs)[:, 0, 0]
    assert variance[::2].max() < 0.5 * variance[1::2].min()
    sure, unsure = (model.compare(user, "i00", "i01") for user in ("u00", "u01"))
    probability = [compared.table["probability"].mean() for compared in (sure, unsure)]
    assert probability[0] > probability[1] + 0.05
    completed = model.complete(
        pl.DataFrame({"user": ["u00", "u01"], "item": "i03", "overall": 3.0, "b": None})
    )
    assert completed["b_sd"][0] < 0.7 * completed["b_sd"][1]


def test_looking_more_often_changes_no_bit(split: dmrank.Split) -> None:
    seldom, often = (
        MixedEffects(evaluate_every=every).fit(split.train).arrays for every in (10, 2)
    )
    for name, array in seldom.items():
        np.testing.assert_array_equal(often[name], array)


def test_a_strong_prior_is_one_noise_for_all(split: dmrank.Split) -> None:
    model = MixedEffects(noise_strength=1e9).fit(split.train)
    common = model.arrays["noise"][np.tril_indices(len(model.catalogue.aspects))]
    np.testing.assert_allclose(
        model.arrays["user_noise"], np.tile(common, (len(split.train.users), 1)), rtol=1e-5
    )


def test_a_file_from_before_noise_of_users_answers_as_it_did(
    split: dmrank.Split, busy: int, tmp_path: Path
) -> None:
    model = MixedEffects(personal_strength=0.7, noise="shared").fit(split.train)
    spans = model.arrays.pop("personal_spans")
    del model.arrays["personal_strength"]
    model.arrays["personal_pointer"] = np.append(spans[:, 0], spans[-1, 1])
    old = dmrank.load(model.save(tmp_path / "old.dmrank"))
    again = MixedEffects(personal_strength=0.7, noise="shared").fit(split.train)
    pairs = np.arange(50), np.arange(50)
    np.testing.assert_array_equal(old.score_pairs(*pairs), again.score_pairs(*pairs))
    np.testing.assert_array_equal(old.covariances(*pairs), again.covariances(*pairs))
    grown = old.fold_in(twin_of(split, busy))
    assert np.isfinite(grown.recommend("twin", n=5)["score"].to_numpy()).all()


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


@pytest.mark.parametrize("noise", ["user", "shared"])
@pytest.mark.parametrize("name", EDGES)
def test_odd_ratings_give_finite_answers(name: str, noise: str) -> None:
    ratings = EDGES[name]
    model = MixedEffects(iterations=10, noise=noise).fit(ratings)
    assert ("user_noise" in model.arrays) == (noise == "user")
    assert all(np.isfinite(array).all() for array in model.arrays.values())
    user, items = ratings.users[0], list(ratings.items)[:3]
    assert np.isfinite(model.predict(user, items)).all()
    assert model.recommend(user, n=3, exclude_seen=False).height == 3
    compared = model.compare(user, items[0], items[1])
    assert compared.table["probability"].is_between(0.5, 1).all()
    spread = model.covariances(np.arange(len(ratings.users)), np.zeros(len(ratings.users), int))
    assert np.linalg.eigvalsh(spread).min() > 0


def test_what_is_constant_is_foretold_and_has_hardly_any_noise() -> None:
    model = MixedEffects().fit(EDGES["a constant aspect"])
    user, items = EDGES["a constant aspect"].users[0], list(EDGES["a constant aspect"].items)
    np.testing.assert_allclose(model.predict(user, items)[:, 1], 3.0, atol=1e-3)
    assert model.covariances(np.arange(3), np.arange(3))[:, 1, 1].max() < 1e-2


def test_implicit_feedback_is_one_constant_aspect() -> None:
    table = make_ratings(60, 20, 600, seed=1).ratings.to_polars().select("user", "item")
    ratings = read_ratings(table, aspects=[], verbose=False)
    model = MixedEffects(iterations=5).fit(ratings)
    assert np.isfinite(model.predict("u000003", "h000001")).all()
