"""Every aspect is trained on 1-5 and given back on its own scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.directional import from_training_scale, to_training_scale
from dmrank.support.errors import DataError


def test_the_ends_of_a_scale_become_1_and_5() -> None:
    scale = [(0, 20), (1, 5), (-10, 10)]
    np.testing.assert_allclose(to_training_scale([0, 1, -10], scale), 1)
    np.testing.assert_allclose(to_training_scale([20, 5, 10], scale), 5)
    np.testing.assert_allclose(to_training_scale([10, 3, 0], scale), 3)


def test_a_missing_rating_stays_missing() -> None:
    assert np.isnan(to_training_scale([np.nan], [(1, 10)])).all()
    assert np.isnan(from_training_scale([np.nan], [(1, 10)])).all()


def test_a_scale_of_one_point_becomes_the_middle() -> None:
    np.testing.assert_allclose(to_training_scale([1.0, 2.0], [(1, 1), (0, 4)]), 3)
    np.testing.assert_allclose(from_training_scale([3.0, 3.0], [(1, 1), (0, 4)]), [1, 2])


def test_an_aspect_without_scale_is_left_as_it_is() -> None:
    nowhere = [(np.nan, np.nan)]
    np.testing.assert_allclose(to_training_scale([4.5], nowhere), 4.5)
    np.testing.assert_allclose(from_training_scale([4.5], nowhere), 4.5)


@given(
    ratings=st.lists(st.floats(-100, 100), min_size=1, max_size=4),
    low=st.floats(-20, 20),
    width=st.just(0.0) | st.floats(0.01, 100),
)
def test_the_map_can_be_undone(ratings: list[float], low: float, width: float) -> None:
    scale = np.tile([low, low + width], (len(ratings), 1))
    back = from_training_scale(to_training_scale(ratings, scale), scale)
    np.testing.assert_allclose(back, ratings, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [[1, 5], [(5, 1)], [(1, 2, 3)]])
def test_a_bad_scale_is_refused(scale: list[object]) -> None:
    with pytest.raises(DataError, match="scale has"):
        to_training_scale([3.0], scale)
