"""Coverage by hand and by a set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dmrank.metrics import Coverage

LISTS = hnp.arrays(np.int32, (4, 6), elements=st.integers(-1, 19))


def test_by_hand() -> None:
    lists = [[3, 1, 0], [3, 2, -1], [3, -1, -1]]
    assert Coverage(1)(lists, 5) == 1 / 5
    assert Coverage(2)(lists, 5) == 3 / 5
    assert Coverage(3)(lists, 5) == 4 / 5


def test_a_list_that_is_shorter_than_the_depth_is_taken_whole() -> None:
    assert Coverage(100)([[0, 1]], 2) == 1


def test_empty_lists_cover_nothing() -> None:
    assert Coverage(2)([[-1, -1]], 3) == 0


@given(LISTS, st.integers(1, 8))
def test_is_the_size_of_a_set(lists: np.ndarray, k: int) -> None:
    listed = {int(item) for row in lists for item in row[:k] if item >= 0}
    assert Coverage(k)(lists, 20) == len(listed) / 20


@given(LISTS, st.integers(1, 5))
def test_deeper_lists_cover_no_less(lists: np.ndarray, k: int) -> None:
    assert Coverage(k)(lists, 20) <= Coverage(k + 1)(lists, 20)
