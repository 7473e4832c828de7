"""How the entries of a batch are grouped."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dmrank.training.pairwise.grouping import Groups, group


@given(st.lists(st.integers(-1, 12), min_size=1, max_size=200))
def test_groups_hold_the_entries_of_each_key(keys: list[int]) -> None:
    entries = np.array(keys, dtype=np.int32)
    groups = Groups(*(np.empty(len(keys), dtype=np.int32) for _ in range(4)), np.empty(2, np.int32))
    group(entries, groups)
    present = list(dict.fromkeys(key for key in keys if key >= 0))
    assert groups.totals.tolist() == [len(present), sum(key >= 0 for key in keys)]
    assert groups.keys[: len(present)].tolist() == present
    for index, key in enumerate(present):
        members, entry = [], groups.heads[index]
        while entry >= 0:
            members.append(int(entry))
            entry = groups.links[entry]
        assert members == np.flatnonzero(entries == key)[::-1].tolist()
        assert groups.sizes[index] == len(members)
