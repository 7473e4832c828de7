"""Ranking items for users: filters, candidates, unknown users, all aspects together."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dmrank
from dmrank import (
    DMR,
    EASE,
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
)

QUICK = {"iterations": 300, "factors": 4, "batch_size": 256, "seed": 1}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return dmrank.make_ratings(150, 200, 2_000, seed=2).ratings.compact()


@pytest.fixture(scope="module", params=["vectors", "scores"])
def model(request, ratings: Ratings) -> Model:
    kinds = {"vectors": MBPR(**QUICK), "scores": EASE(regularization=3.0)}
    return kinds[request.param].fit(ratings)


@pytest.fixture(scope="module")
def dmr(ratings: Ratings) -> DMR:
    return DMR(**QUICK).fit(ratings)


def items_of(table: pl.DataFrame, user: str | None = None) -> list[str]:
    rows = table if user is None else table.filter(pl.col("user") == user)
    return rows["item"].to_list()


# Filters.


@given(data=st.data())
def test_filtered_lists_are_the_full_list_without_what_is_filtered(data, model, ratings) -> None:
    names = st.lists(st.sampled_from(list(ratings.items)), max_size=20)
    allow, block = data.draw(st.none() | names), data.draw(st.none() | names)
    user = data.draw(st.sampled_from(list(ratings.users)))
    full = model.recommend(user, n=999, by="value")
    kept = full.filter(
        pl.lit(True) if allow is None else pl.col("item").is_in(allow),
        pl.lit(True) if block is None else ~pl.col("item").is_in(block),
    )
    found = model.recommend(user, n=999, by="value", allow=allow, block=block)
    assert items_of(found) == items_of(kept)
    assert found["score"].to_list() == kept["score"].to_list()
    assert found["rank"].to_list() == list(range(1, len(kept) + 1))


def test_candidates_are_ranked_as_in_the_full_list(model: Model, ratings: Ratings) -> None:
    users = list(ratings.users)[:3]
    own = {user: list(ratings.items)[7 * row : 7 * row + 20] for row, user in enumerate(users)}
    found = model.recommend(users, n=999, candidates=own, exclude_seen=False)
    full = model.recommend(users, n=999, exclude_seen=False)
    for user in users:
        expected = [item for item in items_of(full, user) if item in own[user]]
        assert items_of(found, user) == expected
    shared = model.recommend(users[0], n=999, candidates=own[users[0]], exclude_seen=False)
    assert items_of(shared) == items_of(found, users[0])
    np.testing.assert_array_equal(
        shared["score"], found.filter(pl.col("user") == users[0])["score"]
    )


def test_what_was_seen_is_no_candidate_unless_asked_for(model: Model, ratings: Ratings) -> None:
    user = ratings.users[0]
    seen = [ratings.items[int(code)] for code in ratings.of_user(user).codes]
    fresh = next(item for item in ratings.items if item not in seen)
    for candidates in ([*seen, fresh], {user: [*seen, fresh]}):
        assert items_of(model.recommend(user, candidates=candidates)) == [fresh]
        again = model.recommend(user, n=999, candidates=candidates, exclude_seen=False)
        assert sorted(items_of(again)) == sorted([*seen, fresh])


def test_filters_apply_to_candidates_as_well(model: Model, ratings: Ratings) -> None:
    user, (one, two, three, *_) = ratings.users[0], list(ratings.items)
    for candidates in ([one, two, three], {user: [one, two, three]}):
        found = model.recommend(
            user, candidates=candidates, allow=[one, two], block=[two], exclude_seen=False
        )
        assert items_of(found) == [one]


def test_ids_that_are_repeated_count_once(model: Model, ratings: Ratings) -> None:
    user, item = ratings.users[0], ratings.items[3]
    for filters in ({"allow": [item, item]}, {"candidates": [item] * 3}, {"allow": item}):
        assert items_of(model.recommend(user, exclude_seen=False, **filters)) == [item]
    twice = model.recommend(user, exclude_seen=False, candidates={user: [item, item]})
    assert items_of(twice) == [item]


def test_a_user_who_is_repeated_gets_the_list_again(model: Model, ratings: Ratings) -> None:
    user = ratings.users[4]
    found = model.recommend([user, ratings.users[5], user], n=3)
    assert items_of(found[:3]) == items_of(found[6:])
    assert found["user"].to_list() == [user] * 3 + [ratings.users[5]] * 3 + [user] * 3


def test_where_filters_leave_nothing_there_are_no_rows(model: Model, ratings: Ratings) -> None:
    user, other = ratings.users[0], ratings.users[1]
    columns = model.recommend(user).schema
    for filters in ({"allow": []}, {"block": list(ratings.items)}, {"candidates": []}):
        found = model.recommend([user, other], **filters)
        assert found.schema == columns
        assert len(found) == 0
    found = model.recommend([user, other], candidates={user: [], other: [ratings.items[0]]},
                            exclude_seen=False)  # fmt: skip
    assert found["user"].to_list() == [other]


def test_a_list_longer_than_the_catalogue_ends_with_it(model: Model, ratings: Ratings) -> None:
    found = model.recommend(ratings.users[0], n=10_000, exclude_seen=False)
    assert sorted(items_of(found)) == sorted(ratings.items)


def test_no_users_no_rows(model: Model) -> None:
    assert model.recommend([]).columns == ["user", "rank", "item", "score", "item_name"]
    assert len(model.recommend([], by="all")) == 0


def test_items_without_a_training_rating_are_never_listed(ratings: Ratings) -> None:
    split = ratings.split(train=0.1, validation=0.45, test=0.45, seed=0)
    rated = {ratings.items[int(code)] for code in split.train.item_codes}
    untrained = next(item for item in ratings.items if item not in rated)
    user = ratings.users[int(split.train.user_codes[0])]
    for model in (MBPR(**QUICK).fit(split.train), EASE(regularization=1).fit(split.train)):
        everything = model.recommend(user, n=999, exclude_seen=False)
        assert set(items_of(everything)) == rated
        assert len(model.recommend(user, candidates={user: [untrained]})) == 0
        assert len(model.recommend(user, candidates=[untrained])) == 0
        assert untrained not in items_of(model.recommend(user, n=999, by="all"))


# What is shown.


def test_aspects_are_shown_as_predicted_ratings(model: Model, ratings: Ratings) -> None:
    found = model.recommend(ratings.users[2], n=4, aspects=True)
    predicted = model.predict(ratings.users[2], items_of(found))
    assert found.columns[-8:] == list(ratings.aspects)
    np.testing.assert_array_equal(found.select(ratings.aspects).to_numpy(), predicted)


def test_an_aspect_called_like_a_column_gets_an_ending() -> None:
    table = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [1.0, 5, 3]})
    model = ItemMean().fit(dmrank.read_ratings(table, verbose=False))
    found = model.recommend("b", by="score", aspects=True)
    assert found.columns == ["user", "rank", "item", "score", "score_rating"]


def test_an_aspect_that_is_called_all_is_meant_by_its_name() -> None:
    table = {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "all": [1.0, 5, 1], "r": [5.0, 1, 5]}
    model = ItemMean().fit(dmrank.read_ratings(pl.DataFrame(table), verbose=False))
    found = model.recommend("b", by="all", exclude_seen=False)
    assert items_of(found) == ["y", "x"]


# Many users.


def test_blocks_together_are_the_whole(model: Model, ratings: Ratings) -> None:
    users = list(ratings.users)
    options = {"by": {"value": 2, "service": 1}, "block": [ratings.items[0]], "aspects": True}
    blocks = list(model.recommend_blocks(iter(users), 5, users_per_block=64, **options))
    assert [block["user"].n_unique() for block in blocks] == [64, 64, 22]
    assert pl.concat(blocks).equals(model.recommend(users, 5, **options))
    (alone,) = model.recommend_blocks(users[0], 5)
    assert alone.equals(model.recommend(users[0], 5))
    with pytest.raises(ConfigError, match="users_per_block=0"):
        next(model.recommend_blocks(users, users_per_block=0))


def test_long_lists_of_many_users_are_made_piece_by_piece(monkeypatch, model, ratings) -> None:
    users = list(ratings.users)
    whole = model.recommend(users, n=30)
    monkeypatch.setattr("dmrank.answers.recommend._PLACES_AT_ONCE", 100)
    assert model.recommend(users, n=30).equals(whole)


def test_what_is_kept_between_calls_changes_nothing(ratings: Ratings) -> None:
    model = MBPR(**QUICK).fit(ratings)
    mixes = [{"value": weight, "service": 1} for weight in range(30)]
    first = [model.recommend("u000003", by=mix) for mix in mixes]
    for mix, expected in zip(mixes, first, strict=True):
        assert model.recommend("u000003", by=mix).equals(expected)
    assert MBPR(**QUICK).fit(ratings).recommend("u000003", by=mixes[-1]).equals(first[-1])
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.recommend("u000003", by=mixes[0]).equals(first[0])


def test_a_model_that_is_fitted_again_forgets_what_it_kept(ratings: Ratings) -> None:
    model = Popularity().fit(ratings)
    before = model.recommend("u000003", exclude_seen=False)
    table = ratings.to_polars().filter(pl.col("item") != before["item"][0])
    model.fit(dmrank.read_ratings(table, verbose=False))
    assert before["item"][0] not in items_of(model.recommend("u000003", exclude_seen=False))


def test_many_threads_may_ask_at_once(model: Model, ratings: Ratings) -> None:
    asked = [(user, by) for user in list(ratings.users)[:8] for by in ratings.aspects]
    expected = [model.recommend(user, by=by) for user, by in asked]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: model.recommend(one[0], by=one[1]), asked * 3))
    assert all(one.equals(two) for one, two in zip(found, expected * 3, strict=True))


# Users that the model does not know.


def test_unknown_users_get_what_is_popular_on_the_aspect() -> None:
    users = ["a", "b", "c", "a", "d"]
    ratings = Ratings.from_arrays(
        users,
        ["x", "x", "x", "y", "y"],
        [[1, 5], [2, 5], [1, 5], [5, 1], [5, 2]],
        aspects=["service", "value"],
        scale=(1, 5),
    )
    model = Popularity().fit(ratings)
    by_service = model.recommend("new", by="service", on_unknown="popular", aspects=True)
    assert items_of(by_service) == ["y", "x"]  # 5 + 5 against 1 + 2 + 1
    assert by_service["score"].to_list() == [10, 4]
    assert by_service["personal"].to_list() == [False, False]
    assert by_service["service"].to_list() == pytest.approx([5, 4 / 3])
    by_value = model.recommend("new", by="value", on_unknown="popular")
    assert items_of(by_value) == ["x", "y"]
    mixed = model.recommend("new", by={"service": 1, "value": 0.1}, on_unknown="popular")
    assert mixed["score"].to_list() == pytest.approx([10.3, 5.5])


def test_known_and_unknown_users_can_be_asked_for_together(model: Model, ratings: Ratings) -> None:
    asked = [ratings.users[1], "new", ratings.users[0]]
    found = model.recommend(asked, n=4, on_unknown="popular", block=[ratings.items[0]])
    assert found["user"].to_list() == [name for name in asked for _ in range(4)]
    assert found["personal"].to_list() == [True] * 4 + [False] * 4 + [True] * 4
    alone = model.recommend(asked[::2], n=4, block=[ratings.items[0]])
    assert items_of(found.filter("personal")) == items_of(alone)
    by_all = model.recommend(asked, n=4, by="all", on_unknown="popular")
    assert by_all["personal"].to_list() == found["personal"].to_list()


def test_unknown_users_have_candidates_and_filters_too(model: Model, ratings: Ratings) -> None:
    one, two, three, *_ = list(ratings.items)
    for candidates in ([one, two, three], {"new": [one, two, three]}):
        found = model.recommend("new", candidates=candidates, block=[two], on_unknown="popular")
        assert sorted(items_of(found)) == [one, three]


def test_a_user_without_a_training_rating_is_unknown(ratings: Ratings) -> None:
    split = ratings.split(train=0.02, validation=0.49, test=0.49, seed=0)
    idle = ratings.users[int(np.flatnonzero(np.diff(split.train.user_pointer) == 0)[0])]
    model = ItemMean().fit(split.train)
    with pytest.raises(UnknownUserError, match=f"user '{idle}' has no training rating"):
        model.recommend(idle)
    assert not model.recommend(idle, on_unknown="popular")["personal"].any()


# All aspects together.


def test_all_aspects_together_prefers_what_is_good_on_every_one() -> None:
    rng = np.random.default_rng(0)
    # One item is good on both aspects, two are better on one and bad on the other.
    quality = {"even": (4, 4), "great value": (1, 5), "great service": (5, 1)}
    quality |= {f"dull {k}": (2, 2) for k in range(9)}
    rows = [(f"u{u:02}", item) for u in range(40) for item in quality if rng.random() < 0.7]
    values = [quality[item] for _, item in rows]
    users, items = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(users, items, values, aspects=["service", "value"], scale=(1, 5))
    for model in (ItemMean(shrinkage=0), DMR(**QUICK, rated_share=1.0)):
        found = model.fit(ratings).recommend("u03", n=1, by="all", exclude_seen=False)
        assert items_of(found) == ["even"]


def test_the_score_of_all_aspects_is_a_probability(dmr: DMR, ratings: Ratings) -> None:
    found = dmr.recommend(list(ratings.users), n=999, by="all", exclude_seen=False)
    scores = found["score"].to_numpy()
    assert scores.min() >= 0
    assert scores.max() <= 1
    # Seldom on all aspects at once, but above one in 2⁸: the aspects go together.
    assert 1 / 256 < scores.mean() < 0.5


def test_dominance_agrees_with_simulation(dmr: DMR, ratings: Ratings) -> None:
    from dmrank.answers.all_aspects import _competitors

    rng = np.random.default_rng(0)
    user = 5
    found = dmr.recommend(ratings.users[user], n=5, by="all")

    def draws(items: np.ndarray) -> np.ndarray:
        users = np.full(len(items), user)
        mean = dmr.score_pairs(users, items)
        root = np.linalg.cholesky(dmr.covariances(users, items))
        noise = rng.normal(size=(*mean.shape, 1))
        return mean + (root @ noise)[:, :, 0]

    size = 20_000
    others = draws(rng.choice(_competitors(dmr), size=size))
    for row in found.iter_rows(named=True):
        own = draws(np.full(size, ratings.items.code(row["item"])))
        assert row["score"] == pytest.approx((own > others).all(axis=1).mean(), abs=0.03)


def test_all_aspects_with_one_aspect_or_one_score_is_that_ranking(ratings: Ratings) -> None:
    model = EASE(regularization=3.0).fit(ratings)
    assert items_of(model.recommend("u000003", n=20, by="all")) == items_of(
        model.recommend("u000003", n=20)
    )


def test_all_aspects_respects_filters_and_candidates(dmr: DMR, ratings: Ratings) -> None:
    user, some = ratings.users[0], list(ratings.items)[:9]
    options = {"by": "all", "exclude_seen": False, "n": 999}
    full = dmr.recommend(user, **options)
    allowed = dmr.recommend(user, **options, allow=some, block=some[:2])
    assert items_of(allowed) == [item for item in items_of(full) if item in some[2:]]
    own = dmr.recommend(user, **options, candidates={user: some})
    assert items_of(own) == [item for item in items_of(full) if item in some]
    assert own["score"].to_list() == full.filter(pl.col("item").is_in(some))["score"].to_list()


# Bad input.


@pytest.mark.parametrize("n", [0, -3, 2.5, "10"])
def test_a_length_is_a_whole_number_from_1_on(model: Model, n) -> None:
    with pytest.raises(ConfigError, match="at least one item"):
        model.recommend("u000003", n=n)


@pytest.mark.parametrize(
    ("by", "error", "reason"),
    [
        ("servise", UnknownAspectError, "did you mean 'service'"),
        ("", UnknownAspectError, "no aspect ''"),
        ({}, ConfigError, "no aspect has a weight"),
        ({"service": 0, "value": 0}, ConfigError, "no aspect has a weight"),
        ({"service": -1}, ConfigError, "a number from 0 to"),
        ({"service": "2"}, ConfigError, "a number from 0 to"),
        ({"service": float("inf")}, ConfigError, "a number from 0 to"),
        ({"service": 1e300}, ConfigError, "a number from 0 to"),
        (["service", "value"], ConfigError, "give weights to several"),
        ({"all": 1}, UnknownAspectError, "no aspect 'all'"),
    ],
    ids=str,
)
def test_what_cannot_be_ranked_by_is_refused(model: Model, by, error, reason: str) -> None:
    with pytest.raises(error, match=reason):
        model.recommend("u000003", by=by)


@pytest.mark.parametrize("name", ["allow", "block", "candidates"])
def test_unknown_items_in_filters_are_refused(model: Model, name: str) -> None:
    with pytest.raises(UnknownItemError, match="item 'h00001' is not in the ratings; did you mean"):
        model.recommend("u000003", **{name: ["h000001", "h00001"]})
    with pytest.raises(UnknownItemError, match="ids are strings"):
        model.recommend("u000003", **{name: [1]})


def test_other_bad_arguments_are_refused(model: Model) -> None:
    with pytest.raises(UnknownUserError, match="user 'u00003' is not in the ratings; did you mean"):
        model.recommend("u00003")
    with pytest.raises(DataError, match="candidates have no list for user 'u000003'"):
        model.recommend("u000003", candidates={"u000001": []})
    with pytest.raises(UnknownItemError, match="item 'x'"):
        model.recommend("u000003", candidates={"u000003": ["x"]})
    with pytest.raises(ConfigError, match="on_unknown='ignore': give 'raise' or 'popular'"):
        model.recommend("u000003", on_unknown="ignore")


def test_blocks_of_users_share_filters_that_can_be_read_once(hotels: Ratings) -> None:
    model = ItemMean().fit(hotels)
    users, allowed = list(hotels.users)[:6], list(hotels.items)[:20]
    whole = model.recommend(users, n=3, allow=allowed)
    for asked in (users, iter(users)):
        blocks = model.recommend_blocks(asked, n=3, users_per_block=2, allow=iter(allowed))
        assert pl.concat(blocks).equals(whole)
