"""An approximate index finds most of what an exact ranking finds, with the same scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    EASE,
    MBPR,
    ApproximateIndex,
    ConfigError,
    ItemMean,
    ModelFileError,
    Ratings,
    UnknownUserError,
    UnsupportedError,
)
from tests.damage import flipped, forged

QUICK = {"iterations": 300, "factors": 6, "batch_size": 256, "seed": 1, "threads": 1}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return dmrank.make_ratings(200, 2_000, 6_000, seed=2).ratings.compact()


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> MBPR:
    return MBPR(**QUICK).fit(ratings)


@pytest.fixture(scope="module")
def index(model: MBPR) -> ApproximateIndex:
    return model.index(probes=20)


def found_share(found: pl.DataFrame, exact: pl.DataFrame) -> float:
    return len(found.join(exact, on=["user", "item"])) / len(exact)


@pytest.mark.parametrize("by", [None, "value", {"value": 2, "service": 1}], ids=str)
def test_most_of_the_exact_list_is_found_for_any_mix(model, index, ratings, by) -> None:
    users = list(ratings.users)
    exact, found = (one.recommend(users, 10, by=by) for one in (model, index))
    assert found.columns == exact.columns
    assert found_share(found, exact) > 0.95
    both = found.join(exact, on=["user", "item"], suffix="_exact")
    assert (both["score"] == both["score_exact"]).all()
    assert found.equals(found.sort("user", "rank"))


def test_seen_and_blocked_items_are_left_out(model, index, ratings) -> None:
    heavy = ratings.users[int(np.diff(ratings.user_pointer).argmax())]
    seen = {ratings.items[int(code)] for code in ratings.of_user(heavy).codes}
    best = model.recommend(heavy, 5)["item"].to_list()
    found = index.recommend([heavy, ratings.users[0]], 10, block=best, aspects=True)
    listed = set(found.filter(pl.col("user") == heavy)["item"])
    assert len(listed) == 10
    assert not listed & (seen | set(best))
    assert found.columns[-8:] == list(ratings.aspects)
    assert set(index.recommend(heavy, 50, exclude_seen=False)["item"]) & seen


def test_filters_that_leave_little_give_an_exact_list(model, index, ratings) -> None:
    users, some = list(ratings.users)[:5], list(ratings.items)[:30]
    exact = model.recommend(users, 10, allow=some, block=some[:3])
    assert index.recommend(users, 10, allow=some, block=some[:3]).equals(exact)


def test_a_wider_search_finds_more(model, ratings) -> None:
    index = model.index(probes=1)
    users, shares = list(ratings.users), []
    exact = model.recommend(users, 2, exclude_seen=False)
    for probes in (1, 8):
        index.probes = probes
        shares.append(found_share(index.recommend(users, 2, exclude_seen=False), exact))
    assert shares[0] < shares[1] < 1
    index.probes = index.clusters
    assert index.recommend(users, 2, exclude_seen=False).equals(exact)


def test_a_search_looks_into_enough_clusters_by_default(model, ratings) -> None:
    users = list(ratings.users)
    index = model.index()
    assert index.probes == 16
    assert found_share(index.recommend(users), model.recommend(users)) > 0.9


def test_an_index_is_saved_whole_and_opened(index, model, ratings, tmp_path: Path) -> None:
    path = index.save(tmp_path / "hotels.index")
    again = ApproximateIndex.load(path, model, probes=20)
    users = list(ratings.users)[:20]
    assert again.recommend(users).equals(index.recommend(users))
    assert [file.name for file in tmp_path.iterdir()] == ["hotels.index"]
    assert len(again) == len(ratings.items)


def test_a_file_that_does_not_belong_to_the_model_is_refused(index, ratings, tmp_path) -> None:
    path = index.save(tmp_path / "hotels.index")
    for changes in ({"seed": 2}, {"factors": 3}):
        other = MBPR(**{**QUICK, **changes}).fit(ratings)
        with pytest.raises(ModelFileError, match="built from another model"):
            ApproximateIndex.load(path, other)
    (tmp_path / "text.index").write_text("no index")
    for name in ("text.index", "none.index"):
        with pytest.raises(ModelFileError, match=name):
            ApproximateIndex.load(tmp_path / name, other)
    other.save(tmp_path / "model.dmrank")
    with pytest.raises(ModelFileError, match="model.dmrank is not an index"):
        ApproximateIndex.load(tmp_path / "model.dmrank", other)


def test_item_vectors_that_depend_on_the_mix_need_an_index_each(ratings: Ratings) -> None:
    model = ItemMean().fit(ratings)
    index = model.index(by="value")
    assert index.recommend("u000003", 3).equals(index.recommend("u000003", 3, by="value"))
    with pytest.raises(ConfigError, match="model.index"):
        index.recommend("u000003", by="service")


def test_bad_questions_are_typed_errors(index, ratings) -> None:
    with pytest.raises(UnknownUserError, match="did you mean"):
        index.recommend("u00003")
    with pytest.raises(ConfigError, match="at least one item"):
        index.recommend("u000003", 0)
    with pytest.raises(ConfigError, match="probes=0"):
        index.model.index(probes=0)
    with pytest.raises(ConfigError, match="clusters=0"):
        index.model.index(clusters=0)
    with pytest.raises(UnsupportedError, match="no dot products"):
        EASE(regularization=1).fit(ratings).index()


def test_a_flipped_bit_of_an_index_is_refused(index, tmp_path: Path) -> None:
    path = index.save(tmp_path / "hotels.index")
    for content in flipped(path.read_bytes(), count=60, seed=1):
        path.write_bytes(content)
        with pytest.raises(ModelFileError):
            ApproximateIndex.load(path, index.model).recommend("u000003")


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("centres", np.nan),
        ("centres", np.inf),
        ("centres", 3e38),
        ("reach", np.nan),
        ("reach", -1),
        ("blocks", np.nan),
        ("blocks", 3e38),
        ("codes", -1),
        ("codes", 2**31 - 1),
        ("pointer", 2**62),
        ("pointer", -1),
    ],
)
def test_an_index_that_somebody_forged_is_refused(index, tmp_path: Path, array, value) -> None:
    def put(arrays: dict[str, np.ndarray], _: object) -> None:
        arrays[array].flat[1] = value

    path = forged(index.save(tmp_path / "hotels.index"), tmp_path / "forged.index", put)
    with pytest.raises(ModelFileError, match=f"its array '{array}'"):
        ApproximateIndex.load(path, index.model).recommend("u000003")
