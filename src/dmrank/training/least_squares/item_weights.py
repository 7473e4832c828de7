"""Weights B of items × items, dense or sparse, behind the same calls."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from dmrank.support.arrays import Array, Arrays, Codes, Float32s
from dmrank.support.layouts import Kept, Shapes, codes, floats, length_of, pointer
from dmrank.training.least_squares import item_regression, pruned_weights
from dmrank.training.least_squares.item_regression import SparseRows

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
    if isinstance(weights, np.ndarray):
        return item_regression.score_all(rows, users, weights, threads)
    return pruned_weights.score_all(rows, users, weights, threads)


def score_pairs(
    rows: SparseRows, users: Codes, items: Codes, weights: ItemWeights, threads: int | None
) -> Float32s:
    """Return elements of XB: the scores of (user, item) pairs."""
    if isinstance(weights, np.ndarray):
        return item_regression.score_pairs(rows, users, items, weights, threads)
    return pruned_weights.score_pairs(rows, users, items, weights, threads)
