"""Lift of lists by an aspect over lists by overall."""

import numpy as np
import pytest

from dmrank.metrics import list_lifts

#: Four items on overall, service and value.
MEANS = np.array([[4.0, 5.0, 3.0], [4.0, 3.0, 5.0], [5.0, 4.0, 4.0], [3.0, 2.0, np.nan]])


def test_the_same_list_lifts_nothing() -> None:
    lists = np.array([[0, 1], [2, 3]])
    lifts = list_lifts(lists, lists, MEANS, 1)
    assert lifts.lift.tolist() == [0, 0]
    assert lifts.specific.tolist() == [0, 0]
    assert lifts.overlap.tolist() == [1, 1]


def test_what_is_lifted_everywhere_is_not_specific() -> None:
    better_at_all = MEANS + np.array([[0.0], [0.0], [0.0], [0.0]])
    better_at_all[0] = better_at_all[1] + 1
    lifts = list_lifts(np.array([[0]]), np.array([[1]]), better_at_all, 2)
    assert lifts.lift == pytest.approx(1)
    assert lifts.specific == pytest.approx(0)


def test_a_list_by_service_is_better_on_service() -> None:
    lifts = list_lifts(np.array([[0]]), np.array([[1]]), MEANS, 1)
    assert lifts.lift == pytest.approx(2)
    assert lifts.specific == pytest.approx(2 - (0 - 2) / 2)
    assert lifts.overlap.tolist() == [0]


def test_short_and_empty_lists_count_what_they_have() -> None:
    lifts = list_lifts(np.array([[0, -1], [-1, -1]]), np.array([[1, 0], [1, 0]]), MEANS, 1)
    assert lifts.lift[0] == pytest.approx(5 - 4)
    assert np.isnan(lifts.lift[1])
    assert np.isnan(lifts.overlap[1])


def test_an_aspect_that_an_item_lacks_is_left_out() -> None:
    lifts = list_lifts(np.array([[3]]), np.array([[2]]), MEANS, 1)
    assert lifts.specific == pytest.approx(-2 - (-2))
