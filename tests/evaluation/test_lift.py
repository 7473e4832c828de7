"""Lift and contrast of models, in `evaluate` and on their own."""

import numpy as np
import pytest

import dmrank
from dmrank import EASE, ConfigError, ItemMean, MixedEffects, Popularity, make_ratings
from dmrank.evaluation import lift, rated_pairs
from dmrank.metrics import contrast_accuracy, parse_metric


@pytest.fixture(scope="module")
def split() -> dmrank.Split:
    return make_ratings(600, 150, 20_000, seed=1).ratings.split()


@pytest.fixture(scope="module")
def models(split: dmrank.Split) -> dict[str, dmrank.Model]:
    kinds = {"popular": Popularity(), "ease": EASE(), "means": ItemMean(), "mixed": MixedEffects()}
    return {name: model.fit(split.train) for name, model in kinds.items()}


def test_one_score_for_all_aspects_lifts_nothing(split, models) -> None:
    for name in ("popular", "ease"):
        found = lift(models[name], split)
        assert (found.table["lift"] == 0).all()
        assert (found.table["overlap"] == 1).all()
        assert rated_pairs(split).contrast(models[name]).pooled == 0


def test_a_model_of_aspects_lifts_what_was_planted(split, models) -> None:
    found = lift(models["mixed"], split)
    assert found.table["specific"].mean() > 0.05
    assert found.table["overlap"].mean() < 0.9
    assert rated_pairs(split).contrast(models["mixed"]).pooled > 0.52


def test_calibration_alone_is_the_control(split, models) -> None:
    """One score times a slope per aspect tells a little of contrasts, and is no longer 0."""
    pairs = rated_pairs(split)
    slopes = pairs.predicted(models["ease"]) * models["ease"].calibration.slope
    expected = contrast_accuracy(pairs.observed, slopes, pairs.pointer)
    assert pairs.contrast(models["ease"], calibrated=True).pooled == expected.pooled > 0


def test_lists_are_of_items_that_enough_test_ratings_judge(split, models) -> None:
    counts = np.zeros((len(split.train.items), len(split.train.aspects)))
    np.add.at(counts, split.test.item_codes, ~np.isnan(split.test.values))
    found = lift(models["means"], split, fewest_ratings=8)
    for row in found.table.iter_rows(named=True):
        k = split.train.aspect(row["aspect"])
        assert row["items"] == (counts[:, k] >= 8).sum()


def test_an_aspect_with_too_few_items_is_skipped_and_named(split, models) -> None:
    found = lift(models["means"], split, fewest_items=10_000)
    assert found.table.is_empty()
    assert set(found.skipped) == set(split.train.aspects) - {"overall"}


def test_evaluate_reports_them_with_intervals(split, models) -> None:
    names = ["ndcg@10", "contrast", "contrast-calibrated", "lift@10", "specific-lift@10"]
    report = dmrank.evaluate(models, split, metrics=names)
    table = report.table()
    assert table.columns == ["model", *names, "ndcg@10 average"]
    intervals = report.intervals()
    assert (intervals["low"] <= intervals["mean"]).all()
    assert (intervals["mean"] <= intervals["high"]).all()
    assert report.significance("contrast") == []
    assert {row["metric"] for row in report.by_aspect().to_dicts()} == {"ndcg@10"}
    with pytest.raises(ConfigError, match="no user has one"):
        report.per_user("mixed", "contrast")


def test_what_early_stopping_looks_at_has_a_value_per_user() -> None:
    with pytest.raises(ConfigError, match="every user needs one"):
        parse_metric("contrast")
