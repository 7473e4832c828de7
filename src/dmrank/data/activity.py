"""Users by how many ratings they have: those with few are served worst, and often forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dmrank.support.arrays import Bools, Int64s

#: Fewest and most training ratings of each group.
GROUPS: tuple[tuple[int, int | None], ...] = ((1, 4), (5, 9), (10, 19), (20, 49), (50, None))
GROUP_LABELS = ("<5", "5–9", "10–19", "20–49", "50+")


def activity_groups(counts: Int64s) -> Iterator[tuple[str, Bools]]:
    """Yield the label of each group, and which users belong to it.

    Examples
    --------
    >>> for label, members in activity_groups(np.array([3, 60, 4, 7])):
    ...     print(label, members.sum())
    <5 2
    5–9 1
    10–19 0
    20–49 0
    50+ 1
    """
    for (fewest, most), label in zip(GROUPS, GROUP_LABELS, strict=True):
        yield label, (counts >= fewest) & (counts <= (np.inf if most is None else most))
