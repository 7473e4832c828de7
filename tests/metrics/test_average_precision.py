"""Average precision by hand, by a naive implementation, and by its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.metrics import AveragePrecision
from tests.metrics.rankings import Rankings, flat, rankings


def naive_average_precision(ranks: np.ndarray) -> float:
    if len(ranks) == 0:
        return np.nan
    return float(np.mean([np.sum(ranks <= rank) / rank for rank in ranks]))


def test_by_hand() -> None:
    # (1/2 + 2/3 + 3/10) / 3
    assert AveragePrecision()(*flat([([10, 2, 3], [1, 5, 5])])) == pytest.approx([22 / 45])


@given(rankings())
def test_agrees_with_a_naive_implementation(users: Rankings) -> None:
    expected = [naive_average_precision(ranks) for ranks, _ in users.users()]
    np.testing.assert_allclose(AveragePrecision()(*users), expected, rtol=1e-12)


@given(rankings(), st.integers(0, 5))
def test_gains_do_not_matter(users: Rankings, gain: int) -> None:
    other = users._replace(gains=np.full_like(users.gains, gain))
    np.testing.assert_array_equal(AveragePrecision()(*other), AveragePrecision()(*users))


@given(st.integers(1, 20), st.integers(0, 50))
def test_best_and_worst_order(items: int, others: int) -> None:
    best = list(range(1, items + 1))
    worst = [others + place for place in best]
    values = AveragePrecision()(*flat([(best, [1] * items), (worst, [1] * items)]))
    assert values[0] == pytest.approx(1)
    assert values[1] == pytest.approx(np.mean([j / (others + j) for j in best]))


def test_a_user_without_ranked_test_item_has_no_value() -> None:
    values = AveragePrecision()(*flat([([], []), ([0], [np.nan]), ([2, 0], [5, np.nan])]))
    np.testing.assert_array_equal(values, [np.nan, np.nan, 0.5])
