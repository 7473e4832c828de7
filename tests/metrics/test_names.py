"""A metric prints as the name that reads it back."""

from __future__ import annotations

import pytest

from dmrank.errors import ConfigError
from dmrank.metrics import NDCG, AveragePrecision, Metric, parse_metric


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("ndcg@10", NDCG(10)),
        ("ndcg@1", NDCG(1)),
        ("ndcg-exponential@50", NDCG(50, gains="exponential")),
        ("ap", AveragePrecision()),
    ],
)
def test_a_metric_prints_as_its_name(name: str, metric: Metric) -> None:
    assert str(metric) == name
    assert parse_metric(name) == metric


def test_case_and_blanks_do_not_matter() -> None:
    assert parse_metric(" NDCG@10 ") == NDCG(10)


@pytest.mark.parametrize("name", ["ndgc@10", "ndcg", "ndcg@", "ndcg@ten", "ndcg@-1", "ndcg@1.5"])
def test_a_typo_is_answered_with_the_nearest_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'ndcg@10'") as error:
        parse_metric(name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("name", ["map", "ap@10", "ap@", "", "recall@10"])
def test_an_unknown_metric_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="no metric"):
        parse_metric(name)


def test_a_depth_of_0_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        parse_metric("ndcg@0")
