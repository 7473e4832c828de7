"""Weights B of items × items, dense or sparse, behind the same calls."""

from __future__ import annotations

from types import ModuleType
from typing import TypeAlias

import numpy as np

from dmrank.compiled.arguments import read_only, reading
from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Array, Arrays, Codes, Float32s
from dmrank.support.layouts import Kept, Shapes, codes, floats, length_of, pointer
from dmrank.training.least_squares import item_regression, pruned_weights
from dmrank.training.least_squares.item_regression import SparseRows

_USERS_PER_TASK = 8
_PAIRS_PER_TASK = 4_096
ItemWeights: TypeAlias = Float32s | SparseRows


def to_arrays(weights: ItemWeights, name: str = "weights") -> dict[str, Array]:
    """Return the arrays under which weights are kept."""
    if isinstance(weights, np.ndarray):
        return {name: weights}
    return {f"{name}_{part}": array for part, array in weights._asdict().items()}


def from_arrays(arrays: Arrays, name: str = "weights") -> ItemWeights | None:
    """Return the weights that are kept under a name; None if there are none."""
    if name in arrays:
        return arrays[name]
    if f"{name}_pointer" not in arrays:
        return None
    return SparseRows(*(arrays[f"{name}_{part}"] for part in SparseRows._fields))


def layout(shapes: Shapes, items: int, name: str = "weights") -> dict[str, Kept]:
    """Return what the arrays under a name must be, for so many items: dense, or else sparse."""
    if name in shapes:
        return {name: floats(items, items)}
    pointer_name, stored = f"{name}_pointer", length_of(shapes, f"{name}_items")
    return {
        pointer_name: pointer(items, stored),
        f"{name}_items": codes(stored, items, pointer=pointer_name),
        f"{name}_values": floats(stored),
    }


def count_items(weights: ItemWeights) -> int:
    """Return how many items there are weights for."""
    return len(weights) if isinstance(weights, np.ndarray) else len(weights.pointer) - 1


def score_all(
    rows: SparseRows, users: Codes, weights: ItemWeights, threads: int | None
) -> Float32s:
    """Return rows of XB: the scores of all items for some users."""
    rows, users = reading(rows), read_only(users.astype(np.int64))
    score, weights = _kernels(weights).score_users, _reading(weights)
    scores = np.zeros((len(users), count_items(weights)), dtype=np.float32)
    for_ranges(
        lambda start, stop: score(start, stop, rows, users, weights, scores),
        len(users),
        _USERS_PER_TASK,
        threads,
    )
    return scores


def score_pairs(
    rows: SparseRows, users: Codes, items: Codes, weights: ItemWeights, threads: int | None
) -> Float32s:
    """Return elements of XB: the scores of (user, item) pairs."""
    # What is broadcast from one id is no array that compiled code takes.
    pairs = read_only(np.array(users, np.int64)), read_only(np.array(items, np.int64))
    rows = reading(rows)
    score, weights = _kernels(weights).score_range_of_pairs, _reading(weights)
    scores = np.zeros(len(users), dtype=np.float32)
    for_ranges(
        lambda start, stop: score(start, stop, rows, pairs, weights, scores),
        len(users),
        _PAIRS_PER_TASK,
        threads,
    )
    return scores


def _kernels(weights: ItemWeights) -> ModuleType:
    return item_regression if isinstance(weights, np.ndarray) else pruned_weights


def _reading(weights: ItemWeights) -> ItemWeights:
    return read_only(weights) if isinstance(weights, np.ndarray) else reading(weights)
