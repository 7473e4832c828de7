"""A metric prints as the name that reads it back."""

from __future__ import annotations

import pytest

from dmrank.metrics import (
    NDCG,
    AveragePrecision,
    Contrast,
    Coverage,
    HitRate,
    ListLift,
    Metric,
    Precision,
    Recall,
    ReciprocalRank,
    UnbiasedRecall,
    parse_any_metric,
    parse_metric,
)
from dmrank.support.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("ndcg@10", NDCG(10)),
        ("ndcg@1", NDCG(1)),
        ("ndcg-exponential@50", NDCG(50, gains="exponential")),
        ("ap", AveragePrecision()),
        ("rr", ReciprocalRank()),
        ("precision@5", Precision(5)),
        ("recall@20", Recall(20)),
        ("unbiased-recall@20", UnbiasedRecall(20)),
        ("hit@1", HitRate(1)),
    ],
)
def test_a_metric_prints_as_its_name(name: str, metric: Metric) -> None:
    assert str(metric) == name
    # A value: it can be a key, and does not change.
    assert {metric: name}[parse_metric(name)] == name
    assert parse_metric(name) == metric
    assert parse_any_metric(name) == metric


def test_coverage_is_no_metric_of_single_users() -> None:
    assert parse_any_metric(" Coverage@10 ") == Coverage(10)
    assert str(Coverage(10)) == "coverage@10"
    with pytest.raises(ConfigError, match="coverage@10 is one value of all users together"):
        parse_metric("coverage@10")
    with pytest.raises(ConfigError, match="did you mean 'coverage@10'"):
        parse_any_metric("coverag@10")


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("contrast", Contrast()),
        ("contrast-calibrated", Contrast(calibrated=True)),
        ("lift@5", ListLift(5)),
        ("specific-lift@5", ListLift(5, specific=True)),
    ],
)
def test_metrics_of_a_model_as_a_whole_have_names(name: str, metric: Contrast | ListLift) -> None:
    assert str(metric) == name
    assert parse_any_metric(name) == metric


def test_the_mean_over_users_may_be_named_instead() -> None:
    assert parse_metric("map") == AveragePrecision()
    assert parse_metric("MRR") == ReciprocalRank()


def test_case_and_blanks_do_not_matter() -> None:
    assert parse_metric(" NDCG@10 ") == NDCG(10)


@pytest.mark.parametrize("name", ["ndgc@10", "ndcg", "ndcg@", "ndcg@ten", "ndcg@-1", "ndcg@1.5"])
def test_a_typo_is_answered_with_the_nearest_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'ndcg@10'") as error:
        parse_metric(name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("name", ["recall", "ap@10", "ap@", "", "auc"])
def test_an_unknown_metric_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="no metric"):
        parse_metric(name)


def test_a_depth_of_0_is_refused() -> None:
    for name in ("ndcg@0", "precision@0", "recall@0", "hit@0", "coverage@0"):
        with pytest.raises(ConfigError, match="at least 1"):
            parse_metric(name)
