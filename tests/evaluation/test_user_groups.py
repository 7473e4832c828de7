"""Users by the number of their training ratings."""

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import ConfigError, ItemMean, Popularity, Ratings
from dmrank.evaluation import GROUP_LABELS, GROUPS, Report, group_sizes, user_groups

NAN = float("nan")
COUNTS = {"a": 1, "b": 4, "c": 5, "d": 9, "e": 10, "f": 19, "g": 20, "h": 49, "i": 50, "j": 70}


@pytest.fixture(scope="module")
def train() -> Ratings:
    rows = [(user, f"i{n:02}") for user, count in COUNTS.items() for n in range(count)]
    users, items = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(users, items, np.ones((len(rows), 2)), aspects=["p", "q"])
    # One more user, without a row.
    ids = dmrank.Ratings.from_arrays([*users, "none"], [*items, "i00"], np.ones((len(rows) + 1, 1)),
                                     aspects=["p"]).users  # fmt: skip
    return ratings.with_ids(ids, ratings.items, None)


def make_report(values: dict[str, list[list[float]]], users: list[str]) -> Report:
    return Report(
        values={
            (model, aspect, "ndcg@50"): np.array(of_users)
            for model, by_aspect in values.items()
            for aspect, of_users in zip(("p", "q"), by_aspect, strict=True)
        },
        users=pl.Series(users),
        models=tuple(values),
        aspects=("p", "q"),
        metrics=("ndcg@50",),
        primary_aspect="p",
        protocol="full",
        left_out=0,
    )


def test_every_number_of_ratings_is_in_one_group() -> None:
    for count in range(1, 200):
        inside = [low <= count and (high is None or count <= high) for low, high in GROUPS]
        assert sum(inside) == 1
    assert len(GROUPS) == len(GROUP_LABELS)


def test_sizes_count_users_with_a_training_row(train: Ratings) -> None:
    sizes = group_sizes(train)
    assert sizes["group"].to_list() == ["<5", "5–9", "10–19", "20–49", "50+"]
    assert sizes["users"].to_list() == [2] * 5
    assert sizes["share"].to_list() == [0.2] * 5


def test_means_by_hand(train: Ratings) -> None:
    users = ["a", "b", "c", "d", "i"]
    report = make_report(
        {"one": [[0.1, 0.3, NAN, 0.5, NAN], [0.4, NAN, 1.0, 0.0, NAN]], "two": [[0.2] * 5] * 2},
        users,
    )
    averaged = user_groups(report, train, "ndcg@50")
    assert averaged.columns == ["model", "group", "users", "mean", "low", "high"]
    one = averaged.filter(model="one")
    assert one["group"].to_list() == list(GROUP_LABELS)
    assert one["users"].to_list() == [2, 2, 0, 0, 0]
    # Mean over aspects of (0.1 + 0.3) / 2 and 0.4, and of 0.5 and (1 + 0) / 2.
    np.testing.assert_allclose(one["mean"], [0.3, 0.5, NAN, NAN, NAN])
    # Resampled means of two users lie between these users, whose means over aspects these are.
    np.testing.assert_allclose(one["low"], [0.25, 0.25, NAN, NAN, NAN])
    np.testing.assert_allclose(one["high"], [0.3, 1.0, NAN, NAN, NAN])
    assert averaged.filter(model="two")["users"].to_list() == [2, 2, 0, 0, 1]
    by_p = user_groups(report, train, "ndcg@50", by="p").filter(model="one")
    np.testing.assert_allclose(by_p["mean"], [0.2, 0.5, NAN, NAN, NAN])
    assert by_p["users"].to_list() == [2, 1, 0, 0, 0]


def test_groups_together_are_the_report() -> None:
    split = dmrank.make_ratings(200, 60, 3_000, seed=1).ratings.split()
    models = {"popular": Popularity().fit(split.train), "means": ItemMean().fit(split.train)}
    report = dmrank.evaluate(models, split, metrics=["ndcg@50", "coverage@5"])
    groups = user_groups(report, split.train, "ndcg@50", by="overall").filter(model="means")
    known = groups.filter(pl.col("users") > 0)
    together = np.average(known["mean"], weights=known["users"])
    assert together == pytest.approx(report.mean("means", "ndcg@50"))
    with pytest.raises(ConfigError, match="one value of all users"):
        user_groups(report, split.train, "coverage@5")
    with pytest.raises(ConfigError, match="was not evaluated"):
        user_groups(report, split.train, "ndcg@10")
