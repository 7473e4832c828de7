"""Paired t-tests with Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dmrank.evaluation import compare_with_best
from dmrank.evaluation.significance import holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_corrected_values_are_larger_and_in_the_same_order(p_values: list[float]) -> None:
    given_values = np.array(p_values)
    corrected = holm(given_values)
    assert (corrected >= given_values).all()
    assert (corrected <= 1).all()
    order = np.argsort(given_values, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()
    assert corrected.min() == pytest.approx(min(given_values.min() * len(p_values), 1))


def test_the_test_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    one = rng.random(50)
    two = one - 0.05 * rng.standard_normal(50) - 0.02
    comparison = compare_with_best({"one": one, "two": two})[0]
    assert comparison.p == pytest.approx(stats.ttest_rel(one, two).pvalue)
    assert comparison.difference == pytest.approx((one - two).mean())
    assert comparison.improvement == pytest.approx(one.mean() / two.mean() - 1)


def test_users_without_a_value_take_no_part() -> None:
    one = np.array([0.5, 0.7, np.nan, 0.9, 0.4])
    two = np.array([0.4, 0.5, 0.9, np.nan, 0.1])
    kept = [0, 1, 4]
    comparison = compare_with_best({"one": one, "two": two})[0]
    assert comparison.p == pytest.approx(stats.ttest_rel(one[kept], two[kept]).pvalue)


def test_models_that_do_not_differ_are_not_different() -> None:
    same = np.array([0.1, 0.5, 0.3])
    assert compare_with_best({"a": same, "b": same.copy()})[0].p == 1


def test_a_difference_that_is_the_same_for_all_is_certain() -> None:
    values = np.array([0.25, 0.5, 0.75])
    assert compare_with_best({"a": values, "b": values + 0.25})[0].p == 0


def test_a_single_model_has_nobody_to_be_compared_with() -> None:
    assert compare_with_best({"a": np.ones(3)}) == []
