"""Paired t-tests with Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dmrank import ConfigError
from dmrank.evaluation import bootstrap_interval, compare_with_best
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


@given(
    st.lists(st.floats(-1, 1) | st.just(float("nan")), min_size=1, max_size=30),
    st.floats(0.5, 0.99),
    st.integers(0, 5),
)
def test_the_interval_lies_among_the_values(values, level: float, seed: int) -> None:
    low, high = bootstrap_interval(np.array(values), level, resamples=50, seed=seed)
    known = [value for value in values if not np.isnan(value)]
    if not known:
        assert np.isnan([low, high]).all()
    else:
        assert min(known) - 1e-12 <= low <= high <= max(known) + 1e-12


@given(st.floats(-5, 5), st.floats(0.1, 3))
def test_the_interval_moves_and_stretches_with_the_values(shift: float, factor: float) -> None:
    values = np.random.default_rng(3).random(40)
    moved = bootstrap_interval(shift + factor * values, resamples=100)
    wanted = shift + factor * np.array(bootstrap_interval(values, resamples=100))
    np.testing.assert_allclose(moved, wanted, atol=1e-9)


def test_the_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).random(300)
    ours = bootstrap_interval(values, level=0.9, resamples=4_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=4_000, confidence_level=0.9, method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    np.testing.assert_allclose(ours, theirs, atol=2e-3)
    assert bootstrap_interval(np.append(values, np.nan)) == bootstrap_interval(values)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values)


def test_the_true_mean_is_inside_about_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(0)
    intervals = [bootstrap_interval(rng.random(60), 0.8, resamples=200) for _ in range(300)]
    assert 0.72 < np.mean([low < 0.5 < high for low, high in intervals]) < 0.87


def test_many_users_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(50)
    whole = bootstrap_interval(values, resamples=999)
    monkeypatch.setattr("dmrank.evaluation.significance._MOST_DRAWS", 120)
    np.testing.assert_allclose(bootstrap_interval(values, resamples=999), whole, atol=0.01)


def test_bad_levels_are_refused() -> None:
    for level in (0.0, 1.0, 95):
        with pytest.raises(ConfigError, match="between 0 and 1"):
            bootstrap_interval(np.ones(3), level)
    with pytest.raises(ConfigError, match="at least one"):
        bootstrap_interval(np.ones(3), resamples=0)
