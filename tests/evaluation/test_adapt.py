"""Other libraries' results beside our models: matrices, tables of lists, functions."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import dmrank
from dmrank import ConfigError, DataError, ItemMean, Split, make_ratings
from dmrank.evaluation import any_pairs, lift, rated_pairs

METRICS = ["ndcg@10", "rr"]


@pytest.fixture(scope="module")
def split() -> Split:
    return make_ratings(60, 25, 900, seed=3).ratings.split(seed=1)


@pytest.fixture(scope="module")
def means(split: Split) -> ItemMean:
    return ItemMean().fit(split.train)


@pytest.fixture(scope="module")
def table(split: Split, means: ItemMean) -> pl.DataFrame:
    """The scores of a model by overall, in an order of ids that is not that of codes."""
    items = sorted(split.train.items, reverse=True)
    rows = [(user, item) for user in reversed(list(split.train.users)) for item in items]
    users, items = zip(*rows, strict=True)
    scores = means.predict(users, items, raw=True)[:, 0].astype(np.float64)
    return pl.DataFrame({"user": users, "item": items, "score": scores})


def matrix_of(table: pl.DataFrame) -> tuple[np.ndarray, list[str], list[str]]:
    users, items = (table[name].unique(maintain_order=True).to_list() for name in ("user", "item"))
    return table["score"].to_numpy().reshape(len(users), len(items)), users, items


def by_overall(judged: object, split: Split, **options) -> list[float]:
    report = dmrank.evaluate({"it": judged}, split, aspects=["overall"], metrics=METRICS, **options)
    return [report.mean("it", metric) for metric in METRICS]


@pytest.mark.parametrize("protocol", ["full", "sampled(5)"])
def test_every_form_of_a_models_scores_is_judged_as_the_model_is(
    split: Split, means: ItemMean, table: pl.DataFrame, tmp_path: Path, protocol: str
) -> None:
    matrix, users, items = matrix_of(table)
    rank = (-pl.col("score")).rank("min").over("user").alias("rank")
    lists = table.select("user", "item", rank)
    table.write_csv(tmp_path / "lists.csv")
    score_of = dict(
        zip(zip(table["user"], table["item"], strict=True), table["score"], strict=True)
    )
    forms = {
        "dense": dmrank.adapt(matrix, users=users, items=items),
        "sparse": dmrank.adapt(sparse.coo_array(matrix), users=users, items=items),
        "ranks": lists,
        "pandas": table.to_pandas(),
        "arrow": table.to_arrow(),
        "lazy": table.lazy(),
        "file": tmp_path / "lists.csv",
        "their names": table.rename({"user": "user_id", "item": "item_id"}),
        "function": lambda *ids: [score_of[pair] for pair in zip(*ids, strict=True)],
    }
    wanted = by_overall(means, split, protocol=protocol)
    found = {name: by_overall(form, split, protocol=protocol) for name, form in forms.items()}
    assert found == dict.fromkeys(forms, wanted)


def test_pairs_are_ordered_and_lists_are_made_by_results_as_well(
    split: Split, means: ItemMean, table: pl.DataFrame
) -> None:
    for pairs in (rated_pairs(split), any_pairs(split, pairs=500)):
        wanted, found = (np.sign(pairs.predicted(model)[:, 0]) for model in (means, table))
        np.testing.assert_array_equal(found, wanted)
        # One score cannot tell on which of two aspects items differ more.
        assert pairs.contrast(table).pooled == 0
    found = lift(table, split, fewest_ratings=1, fewest_items=5, n=3)
    assert (found.table["overlap"] == 1).all()


def test_what_a_list_does_not_name_comes_last(split: Split) -> None:
    train, test = split.train, split.test
    warm = ~split.cold_rows(test)
    names = {"user": train.users.names(test.user_codes), "item": train.items.names(test.item_codes)}
    best = pl.DataFrame({**names, "score": test.values[:, 0]}).filter(pl.Series(warm))
    assert by_overall(best, split)[0] == pytest.approx(1)
    worst = pl.DataFrame({"user": train.users.series, "item": train.items[0], "rank": 1})
    constant = by_overall(lambda users, items: np.zeros(len(users)), split)
    np.testing.assert_allclose(by_overall(worst, split), constant, atol=0.05)


def test_scores_that_differ_in_double_precision_alone_are_no_ties(split: Split) -> None:
    order = np.random.default_rng(0).random((len(split.train.users), len(split.train.items)))
    ids = {"users": split.train.users, "items": split.train.items}
    wide, narrow = (dmrank.adapt(scores, **ids) for scores in (order, 1 + 1e-12 * order))
    assert by_overall(wide, split) == by_overall(narrow, split)


def test_a_function_is_asked_for_so_many_pairs_at_once(
    split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_name(users, items):
        sizes.append(len(users))
        return [hash_of[item] for item in items]

    hash_of = dict(zip(split.train.items, np.random.default_rng(0).random(25), strict=True))
    sizes: list[int] = []
    whole = by_overall(by_name, split)
    asked = len(split.train.items) - int(split.cold_items.sum())
    assert len(sizes) == 1  # for every aspect and metric
    monkeypatch.setattr("dmrank.evaluation.adapters.adapted._MOST_AT_ONCE", 60)
    assert by_overall(by_name, split) == whole
    assert set(sizes[1:]) <= {asked, 2 * asked}


def test_ids_are_matched_as_text() -> None:
    users, items = np.divmod(np.arange(200), 20)
    ratings = dmrank.Ratings.from_arrays(
        users.astype(str), items.astype(str), (items % 5 + 1.0)[:, None], aspects=["overall"]
    )
    split = ratings.split()
    scores = np.tile(np.arange(20) % 5, (10, 1))
    found = dmrank.adapt(scores, users=np.arange(10), items=range(20))
    assert by_overall(found, split)[0] > 0.9


def test_unknown_users_and_items_are_named_and_come_last(
    split: Split, table: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, users, items = matrix_of(table)
    fewer = dmrank.adapt(matrix[:-3, :-2], users=users[:-3], items=items[:-2])
    assert by_overall(fewer, split) < by_overall(table, split)
    said = capsys.readouterr().err
    missing = {*users[-3:]} & {*dmrank.evaluate(table, split, metrics=["ap"]).users}
    assert f"it has no score for {len(missing)} of 43 users: what it does not score" in said
    assert "it has no score for 2 of 25 items" in said
    with pytest.raises(DataError, match="it knows none of the users of the split"):
        by_overall(dmrank.adapt(matrix, users=range(60), items=items), split)


def test_a_report_calls_results_by_their_kind(split: Split, table: pl.DataFrame) -> None:
    def cheapest(users, items):
        return np.arange(len(items)) % 25

    for judged, name in ((table, "lists"), (cheapest, "cheapest")):
        assert dmrank.evaluate(judged, split, metrics=["rr"]).models == (name,)


def test_what_cannot_be_adapted_is_refused_in_a_line(split: Split, table: pl.DataFrame) -> None:
    matrix, users, items = matrix_of(table)
    with pytest.raises(ConfigError, match="a matrix of scores has no ids: give dmrank.adapt"):
        dmrank.evaluate({"m": matrix}, split)
    with pytest.raises(DataError, match=r"shape \(60, 25\) does not go with 59 users"):
        dmrank.adapt(matrix, users=users[:-1], items=items)
    with pytest.raises(DataError, match="user ids are repeated"):
        by_overall(dmrank.adapt(matrix, users=[*users[:-1], users[0]], items=items), split)
    with pytest.raises(DataError, match="a sparse matrix has scores below 0"):
        dmrank.adapt(sparse.csr_matrix(matrix - 9), users=users, items=items)
    with pytest.raises(DataError, match="a score that is no number"):
        by_overall(dmrank.adapt(matrix * np.nan, users=users, items=items), split)
    with pytest.raises(ConfigError, match="data= says nothing to a ndarray"):
        dmrank.adapt(matrix, users=users, items=items, data=1)
    with pytest.raises(ConfigError, match="int is nothing that can be judged"):
        dmrank.evaluate({"three": 3}, split)
    with pytest.raises(DataError, match="return one score per pair"):
        by_overall(lambda users, items: [1.0], split)
    with pytest.raises(DataError, match="needs a column for the user"):
        dmrank.adapt(table.drop("user"))
    with pytest.raises(DataError, match="needs a column for the order"):
        dmrank.adapt(table.drop("score"))
    with pytest.raises(DataError, match="a user has an item twice"):
        dmrank.adapt(pl.concat([table, table]))
    with pytest.raises(DataError, match="a row has no user, item or score"):
        dmrank.adapt(table.with_columns(score=pl.lit(None, dtype=pl.Float64)))
    with pytest.raises(DataError, match="there is no list in it"):
        dmrank.adapt(pd.DataFrame({"user": [], "item": [], "score": []}))
