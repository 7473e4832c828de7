"""Small ranking questions with many ties: few distinct integer factors, so few distinct scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

ITEMS = st.integers(1, 150)


class Model(NamedTuple):
    """Vectors whose scores are small integers, exact in float32."""

    users: np.ndarray
    items: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        return self.users @ self.items.T


class Lists(NamedTuple):
    """One list of items per user, flat."""

    pointer: np.ndarray
    items: np.ndarray

    def of(self, user: int) -> np.ndarray:
        return self.items[self.pointer[user] : self.pointer[user + 1]]


def model(seed: int, n_users: int, n_items: int, factors: int) -> Model:
    rng = np.random.default_rng(seed)
    users = rng.integers(-2, 3, (n_users, factors)).astype(np.float32)
    return Model(users, rng.integers(-1, 2, (n_items, factors)).astype(np.float32))


def lists(seed: int, n_users: int, n_items: int, longest: int) -> Lists:
    """Draw ascending lists without repetition."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, min(longest, n_items) + 1, n_users)
    drawn = [np.sort(rng.choice(n_items, size, replace=False)) for size in sizes]
    pointer = np.concatenate([[0], np.cumsum(sizes)])
    return Lists(pointer, np.concatenate([np.empty(0, int), *drawn]).astype(np.int32))
