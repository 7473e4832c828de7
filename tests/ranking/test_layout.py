"""Lists of items, one after the other."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dmrank.ranking import lists_of

LISTS = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=8)


@given(LISTS, st.data())
def test_lists_of_some_users_are_theirs_in_their_order(lists: list[list[int]], data) -> None:
    users = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=12))
    pointer = np.cumsum([0, *map(len, lists)])
    items = np.array([item for own in lists for item in own], dtype=np.int32)
    chosen = lists_of(pointer, items, np.array(users, dtype=np.int64))
    ends = chosen.pointer.tolist()
    assert ends[0] == 0
    found = [chosen.items[a:b].tolist() for a, b in pairwise(ends)]
    assert found == [lists[user] for user in users]
