"""Items and users that are alike, and the vectors that say so."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    DMR,
    EASE,
    IALS,
    MBPR,
    ConfigError,
    DataError,
    ItemMean,
    Model,
    Popularity,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    UnsupportedError,
)

QUICK = {"iterations": 300, "factors": 4, "batch_size": 256, "seed": 1}


def two_groups() -> Ratings:
    """Even users rate even items, odd users odd items."""
    rng = np.random.default_rng(0)
    squares = [(u, i) for u in range(40) for i in range(20) if (u + i) % 2 == 0]
    rows = [square for square in squares if rng.random() < 0.7]
    return Ratings.from_arrays(
        [f"u{u:02}" for u, _ in rows],
        [f"i{i:02}" for _, i in rows],
        rng.integers(3, 6, (len(rows), 2)),
        aspects=["overall", "service"],
        scale=(1, 5),
    )


@pytest.fixture(scope="module", params=["vectors", "scores"])
def model(request) -> Model:
    kinds = {"vectors": IALS(factors=6), "scores": EASE(regularization=3.0)}
    return kinds[request.param].fit(two_groups())


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return dmrank.make_ratings(120, 60, 2_000, seed=2).ratings.compact()


def test_items_that_the_same_users_choose_are_alike(model: Model) -> None:
    found = model.similar_items("i04", n=9)
    assert set(found["item"]) == {f"i{i:02}" for i in range(0, 20, 2)} - {"i04"}
    assert found["rank"].to_list() == list(range(1, 10))
    assert found["similarity"].is_sorted(descending=True)
    assert -1 <= found["similarity"].min() <= found["similarity"].max() <= 1


def test_users_who_choose_the_same_items_are_alike(model: Model) -> None:
    found = model.similar_users("u07", n=19)
    assert set(found["user"]) == {f"u{u:02}" for u in range(1, 40, 2)} - {"u07"}
    assert found.columns == ["rank", "user", "similarity"]


def test_nobody_is_similar_to_oneself_and_lists_end_with_the_catalogue(model: Model) -> None:
    items, users = model.similar_items("i04", n=999), model.similar_users("u07", n=999)
    assert sorted(items["item"]) == sorted({f"i{i:02}" for i in range(20)} - {"i04"})
    assert sorted(users["user"]) == sorted({f"u{u:02}" for u in range(40)} - {"u07"})


def test_another_aspect_finds_other_items() -> None:
    rng = np.random.default_rng(0)
    # On service items agree with their neighbour in tens, on value with the same last digit.
    users, items = np.repeat(np.arange(60), 12), np.tile(np.arange(12), 60)
    taste = rng.normal(size=(2, 60, 6))
    values = np.column_stack(
        [taste[0][users, items // 2], taste[1][users, items % 6]]
    )  # fmt: skip
    ratings = Ratings.from_arrays(
        [f"u{u:02}" for u in users],
        [f"i{i:02}" for i in items],
        np.clip(np.rint(3 + values), 1, 5),
        aspects=["service", "value"],
        scale=(1, 5),
    )
    model = dmrank.PTF(factors=12, regularization=0.1).fit(ratings)
    assert model.similar_items("i04", n=1, by="service")["item"][0] == "i05"
    assert model.similar_items("i04", n=1, by="value")["item"][0] == "i10"


def test_a_shift_of_all_items_that_no_order_shows_changes_nothing(ratings: Ratings) -> None:
    model = DMR(**QUICK).fit(ratings)
    before = model.similar_items(ratings.items[3], n=20)
    users_before = model.similar_users(ratings.users[3], n=20)
    shifted = model.arrays["items"] + np.float32([3, -2, 1, 5])
    arrays = {**model.arrays, "items": shifted}
    model = model.with_state(model.catalogue, arrays, model.calibration)
    after = model.similar_items(ratings.items[3], n=20)
    assert after["item"].to_list() == before["item"].to_list()
    np.testing.assert_allclose(after["similarity"], before["similarity"], atol=1e-4)
    users_after = model.similar_users(ratings.users[3], n=20)
    assert users_after["user"].to_list() == users_before["user"].to_list()


def test_cosines_are_those_of_the_scores_over_all_users(ratings: Ratings) -> None:
    model = MBPR(**QUICK).fit(ratings)
    scores = model.score_block(np.arange(len(ratings.users)), model.weights("value"))
    profiles = scores - scores.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(profiles, axis=0)
    cosine = profiles.T @ profiles[:, 7] / norms / norms[7]
    found = model.similar_items(ratings.items[7], n=5, by="value")
    codes = ratings.items.codes(found["item"])
    np.testing.assert_allclose(found["similarity"], cosine[codes], atol=1e-4)
    assert set(codes) == set(np.argsort(-cosine)[1:6])


def test_without_personal_scores_the_nearest_in_score_come_first() -> None:
    counts = {"a": 9, "b": 8, "c": 5, "d": 2, "e": 1}
    rows = [(f"u{u}", item) for item, count in counts.items() for u in range(count)]
    users, items = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(users, items, [[3]] * len(rows), aspects=["r"], scale=(1, 5))
    model = Popularity().fit(ratings)
    assert model.similar_items("a")["item"].to_list() == ["b", "c", "d", "e"]
    assert model.similar_items("e")["item"].to_list() == ["d", "c", "b", "a"]
    assert model.similar_users("u0")["similarity"].to_list() == pytest.approx([1] * 8)


def test_names_are_shown_and_what_was_not_rated_is_not(ratings: Ratings) -> None:
    split = ratings.split(train=0.05, validation=0.5, test=0.45, seed=1)
    rated = {ratings.items[int(code)] for code in split.train.item_codes}
    asked = {ratings.users[int(code)] for code in split.train.user_codes}
    idle_item = next(item for item in ratings.items if item not in rated)
    idle_user = next(user for user in ratings.users if user not in asked)
    for model in (ItemMean().fit(split.train), EASE(regularization=1).fit(split.train)):
        items = model.similar_items(min(rated), n=999)
        assert items.columns == ["rank", "item", "similarity", "item_name"]
        assert set(items["item"]) == rated - {min(rated)}
        assert set(model.similar_users(min(asked), n=999)["user"]) == asked - {min(asked)}
        with pytest.raises(DataError, match="has no training rating"):
            model.similar_items(idle_item)
        with pytest.raises(DataError, match="has no training rating"):
            model.similar_users(idle_user)


def test_bad_questions_are_typed_errors(model: Model) -> None:
    with pytest.raises(UnknownItemError, match="item 'i4' is not in the ratings"):
        model.similar_items("i4")
    with pytest.raises(UnknownUserError, match="user 'u7' is not in the ratings"):
        model.similar_users("u7")
    with pytest.raises(UnknownAspectError, match="did you mean 'service'"):
        model.similar_items("i04", by="servise")
    with pytest.raises(ConfigError, match="no aspect has a weight"):
        model.similar_users("u07", by={})
    with pytest.raises(ConfigError, match="at least one item"):
        model.similar_items("i04", n=0)


# Vectors to hand out.


@pytest.mark.parametrize("offsets", [False, True])
def test_dot_products_of_exported_vectors_are_the_scores(ratings: Ratings, offsets: bool) -> None:
    model = MBPR(**QUICK, item_offsets=offsets).fit(ratings)
    by = {"value": 2, "service": 1}
    users, items = model.vectors(by)
    listed = model.recommend(ratings.users[5], n=999, by=by, exclude_seen=False)
    codes = ratings.items.codes(listed["item"])
    np.testing.assert_allclose(items[codes] @ users[5], listed["score"], rtol=1e-4, atol=1e-5)
    assert users.dtype == items.dtype == np.float32


def test_vectors_come_as_tables_that_arrow_takes(ratings: Ratings) -> None:
    pytest.importorskip("pyarrow")
    model = MBPR(**QUICK).fit(ratings.split(train=0.05, validation=0.5, test=0.45).train)
    exported = model.vectors()
    table = exported.item_table()
    assert table.schema == {"item": pl.String, "vector": pl.Array(pl.Float32, 4)}
    assert len(table) == model.catalogue.rated_items.sum() < len(ratings.items)
    np.testing.assert_array_equal(np.stack(table["vector"].to_numpy()), exported.items)
    arrow = exported.user_table().to_arrow()
    assert arrow.column_names == ["user", "vector"]
    assert arrow.num_rows == len(exported.user_ids) == len(exported.users)


def test_a_model_without_vectors_says_so(model: Model) -> None:
    if model.scoring_vectors(model.weights(None)) is None:
        with pytest.raises(UnsupportedError, match="EASE are no dot products"):
            model.vectors()
    else:
        assert model.vectors().items.shape == (20, 6)
