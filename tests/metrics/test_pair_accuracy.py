"""Pair accuracy: observed ties ask nothing, predicted ties are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dmrank.metrics import pair_accuracy
from dmrank.support.errors import DataError

SMALL = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])


def test_each_user_counts_the_same_and_the_pooled_share_counts_orders() -> None:
    observed = [[1, 1], [1, -1], [2, 0]]
    predicted = [[1, -1], [3, -2], [-1, 1]]
    accuracy = pair_accuracy(observed, predicted, pointer=[0, 2, 3])
    np.testing.assert_allclose(accuracy.per_user, [3 / 4, 0])
    assert accuracy.mean == pytest.approx(3 / 8)
    assert accuracy.pooled == pytest.approx(3 / 5)


def test_a_predicted_tie_is_wrong() -> None:
    assert pair_accuracy([1.0, -1.0], [0.0, 0.0], [0, 2]).pooled == 0


def test_an_observed_tie_and_an_unknown_aspect_ask_for_no_order() -> None:
    accuracy = pair_accuracy([[0, np.nan, 1]], [[1, np.nan, 1]], [0, 1])
    assert accuracy.pooled == 1
    nothing = pair_accuracy([[0, np.nan]], [[1, 1]], [0, 1])
    assert np.isnan([nothing.pooled, nothing.mean, *nothing.per_user]).all()


def test_a_user_without_order_is_left_out_of_the_mean() -> None:
    accuracy = pair_accuracy([1.0, 0.0], [1.0, 1.0], [0, 1, 1, 2])
    np.testing.assert_array_equal(accuracy.per_user, [1, np.nan, np.nan])
    assert accuracy.mean == 1


def test_tiny_differences_still_have_a_sign() -> None:
    assert pair_accuracy([1e-200], [1e-200], [0, 1]).pooled == 1


@given(hnp.arrays(float, (6, 3), elements=SMALL), hnp.arrays(float, (6, 3), elements=SMALL))
def test_agrees_with_the_formula_of_the_paper(observed: np.ndarray, predicted: np.ndarray) -> None:
    asked = (observed != 0).sum()
    expected = (observed * predicted > 0).sum() / asked if asked else np.nan
    np.testing.assert_allclose(pair_accuracy(observed, predicted, [0, 2, 6]).pooled, expected)


def test_a_prediction_of_nan_is_refused() -> None:
    with pytest.raises(DataError, match="NaN"):
        pair_accuracy([1.0], [np.nan], [0, 1])


def test_arrays_of_unlike_shapes_are_refused() -> None:
    with pytest.raises(DataError, match="one row per pair"):
        pair_accuracy([1.0, 2.0], [1.0], [0, 2])
