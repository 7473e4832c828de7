"""Blocks of lists, new users, evaluation and extraction, joined, are what all at once are."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import DataError, Hurdle, ItemMean, ModelFileError, Split, make_ratings
from dmrank.distributed import evaluate_block, extract_block, fold_in_block, list_block
from dmrank.models.opened import ModelFile, opened
from dmrank.support.batches import from_batch, notes_of, to_batch
from dmrank.text import lexicon_polarity, load_lexicon
from tests.text.corpus import make_reviews


@pytest.fixture(scope="module")
def split() -> Split:
    return make_ratings(300, 60, 6_000, missing=0.2, seed=1).ratings.split(seed=0)


@pytest.fixture(scope="module")
def model(split: Split) -> Hurdle:
    return Hurdle(seed=0).fit(split.train, validation=split.validation)


@pytest.fixture(scope="module")
def file(model: Hurdle, tmp_path_factory) -> Path:
    return model.save(tmp_path_factory.mktemp("model") / "hurdle.dmrank")


def _users(*names: str) -> object:
    return to_batch(pl.DataFrame({"user": names}))


def test_lists_of_blocks_are_those_of_all_users(model: Hurdle, file: Path) -> None:
    names = model.users[:100].to_list()
    options = {"by": {"service": 1, "value": 2}, "aspects": True, "on_unknown": "popular"}
    blocks = [
        from_batch(list_block(file, _users(*names[start : start + 30]), n=5, **options))
        for start in range(0, 100, 30)
    ]
    assert pl.concat(blocks).equals(model.recommend(names, 5, **options))


def test_no_user_has_no_list_but_its_columns(model: Hurdle, file: Path) -> None:
    lists = from_batch(list_block(file, _users().slice(0, 0), n=5))
    assert lists.is_empty()
    assert lists.columns == model.recommend([], 5).columns


def test_new_users_get_the_lists_of_a_model_that_knows_them(model: Hurdle, file: Path) -> None:
    rows = pl.DataFrame(
        {
            "user": ["new", "newer", "new"],
            "item": model.items[[3, 5, 7]],
            "overall": [4.0, 2.0, 5.0],
            "service": [None, 1.0, 3.0],
        }
    )
    lists = from_batch(fold_in_block(file, to_batch(rows), n=4, by="service"))
    assert lists.equals(model.fold_in(rows).recommend(["new", "newer"], 4, by="service"))


@pytest.mark.parametrize("protocol", ["full", "sampled(20)"])
def test_values_of_blocks_are_those_of_the_report(
    model: Hurdle, file: Path, split: Split, protocol: str
) -> None:
    metrics = ["ap", "ndcg@10", "unbiased-recall@20"]
    report = dmrank.evaluate(model, split, protocol=protocol, metrics=metrics)
    rows = pl.concat(
        [
            split.test.to_polars().with_columns(seen=False),
            split.validation.to_polars().with_columns(seen=True),
        ]
    )
    in_first = rows["user"].str.ends_with("3")
    halves = rows.filter(in_first), rows.filter(~in_first)
    blocks = [
        evaluate_block(file, to_batch(half), protocol=protocol, metrics=metrics) for half in halves
    ]
    found = pl.concat([from_batch(block) for block in blocks])
    assert len(found) == len(report.users) * len(report.aspects) * 3
    for (_, aspect, metric), values in report.values.items():
        own = found.filter(aspect=aspect, metric=metric).sort("user")
        assert own["user"].to_list() == report.users.to_list()
        np.testing.assert_array_equal(own["value"].to_numpy(), values)
    for (_, aspect), equal in report.equal_scores.items():
        assert sum(notes_of(block)[aspect] for block in blocks) == equal


def test_ratings_of_a_block_of_reviews_are_those_of_the_table(tmp_path: Path) -> None:
    reviews = make_reviews(50).rename({"stars": "overall"}).with_columns(title=pl.lit("Fine"))
    polarity = lexicon_polarity(load_lexicon("hotels"))
    words = polarity.save(tmp_path / "words")
    expected = dmrank.extract_aspects(reviews, overall="overall", polarity=polarity, verbose=False)
    blocks = [extract_block(words, to_batch(half)) for half in (reviews[:20], reviews[20:])]
    found = pl.concat([from_batch(block) for block in blocks]).sort("user", "item")
    for k, name in enumerate(expected.aspects):
        np.testing.assert_array_equal(found[name].to_numpy(), expected.values[:, k])
    assert [notes_of(block)["reviews"] for block in blocks] == [20, 30]


def test_a_batch_without_its_column_is_refused(file: Path) -> None:
    with pytest.raises(DataError, match="no column 'user': it has guest"):
        list_block(file, to_batch(pl.DataFrame({"guest": ["ann"]})))


def test_a_model_file_that_was_changed_meanwhile_is_refused(split: Split, tmp_path: Path) -> None:
    file = ModelFile.at(ItemMean().fit(split.train).save(tmp_path / "m.dmrank"))
    assert opened(file) is opened(file)
    os.utime(file.path, ns=(0, file.modified + 1))
    with pytest.raises(ModelFileError, match="m.dmrank was changed while it was in use"):
        opened(file)
    with pytest.raises(ModelFileError, match="nowhere.dmrank cannot be read: No such file"):
        list_block(tmp_path / "nowhere.dmrank", _users("ann"))


def test_blocks_import_no_engine() -> None:
    code = (
        "import sys, dmrank, dmrank.distributed\n"
        "dmrank.distributed.list_block, dmrank.evaluate, dmrank.tune, dmrank.cluster\n"
        "print([m for m in ('ray', 'pyspark', 'dask') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
