"""Random users with random test items in random places."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Rankings(NamedTuple):
    """The flat layout of several users: what a metric takes."""

    ranks: np.ndarray
    gains: np.ndarray
    pointer: np.ndarray

    def users(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return ranks and gains of each user."""
        bounds = zip(self.pointer[:-1], self.pointer[1:], strict=True)
        return [(self.ranks[a:b], self.gains[a:b]) for a, b in bounds]


def flat(users: list[tuple[list[int], list[float]]]) -> Rankings:
    sizes = [len(ranks) for ranks, _ in users]
    return Rankings(
        np.array([rank for ranks, _ in users for rank in ranks], dtype=np.int64),
        np.array([gain for _, gains in users for gain in gains], dtype=float),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )


@st.composite
def rankings(draw: st.DrawFn, max_rank: int = 30) -> Rankings:
    users = []
    for _ in range(draw(st.integers(0, 5))):
        ranks = draw(st.lists(st.integers(1, max_rank), unique=True, max_size=8))
        gains = [float(draw(st.integers(0, 5))) for _ in ranks]
        users.append((ranks, gains))
    return flat(users)
