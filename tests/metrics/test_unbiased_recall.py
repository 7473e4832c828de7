"""Recall as if all items were equally likely to be met."""

import numpy as np
import pytest

from dmrank import DataError, Popularity, evaluate, make_ratings
from dmrank.metrics import Recall, UnbiasedRecall, parse_metric


def test_without_propensities_it_is_recall() -> None:
    ranks, gains, pointer = [1, 20, 3, 30, 2], [5.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 5]
    np.testing.assert_array_equal(
        UnbiasedRecall(10)(ranks, gains, pointer), Recall(10)(ranks, gains, pointer)
    )


def test_it_has_a_name() -> None:
    assert parse_metric("unbiased-recall@5") == UnbiasedRecall(5)


@pytest.mark.parametrize("bad", [0.0, -0.5, 1.5, np.nan])
def test_propensities_are_probabilities(bad: float) -> None:
    with pytest.raises(DataError, match="propensities must be above 0 and at most 1"):
        UnbiasedRecall(10)([1, 2], [5.0, 4.0], [0, 2], propensities=[0.5, bad])


def test_one_propensity_for_each_item() -> None:
    with pytest.raises(DataError, match="1 propensities"):
        UnbiasedRecall(10)([1, 2], [5.0, 4.0], [0, 2], propensities=[0.5])


def test_it_finds_the_recall_of_ratings_that_nothing_hid() -> None:
    """Of items that are wanted alike, many are met seldom, and lists show those that are not."""
    rng = np.random.default_rng(0)
    users, items, shown = 4_000, 50, 10
    met = np.where(np.arange(items) < shown, 1.0, 0.1)
    wanted = rng.random((users, items)) < 0.3
    rated = wanted & (rng.random((users, items)) < met)
    rated = rated[rated.any(axis=1)]
    row, item = np.nonzero(rated)
    pointer = np.searchsorted(row, np.arange(len(rated) + 1))
    ranks, gains = item + 1, np.ones(len(item))
    truth = shown / items
    plain = Recall(shown)(ranks, gains, pointer).mean()
    unbiased = UnbiasedRecall(shown)(ranks, gains, pointer, propensities=met[item]).mean()
    assert plain > 2.5 * truth
    # Of few ratings per user the ratio of two sums is still biased, but by less.
    assert abs(unbiased - truth) < 0.7 * abs(plain - truth)


def test_lists_of_what_is_popular_are_worth_less() -> None:
    split = make_ratings(300, 80, 5_000, seed=1).ratings.split()
    report = evaluate(
        Popularity().fit(split.train), split, metrics=["recall@10", "unbiased-recall@10"]
    )
    unbiased, plain = (report.mean("Popularity", f"{kind}recall@10") for kind in ("unbiased-", ""))
    assert unbiased < plain
