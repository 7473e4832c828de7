"""What effects of users and items leave of ratings, and whether it can be foretold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.support.arrays import AnyFloats, Array, Arrays, Codes, Float32s, Floats, Int64s
from dmrank.support.layouts import Kept, Shapes, codes, floats, length_of, pointer, spans
from dmrank.training.least_squares import item_weights
from dmrank.training.least_squares.item_regression import SparseRows
from dmrank.training.least_squares.item_weights import ItemWeights
from dmrank.training.least_squares.regression import Ridge
from dmrank.training.least_squares.spread_items import regress_items

#: A slope has to be so many times its standard error to count.
_SURE = 2.0
_LARGEST = 1.5
#: What the weights are kept as.
_WEIGHTS = "personal_weights"


def mean_residuals(residuals: AnyFloats) -> Float32s:
    """Return the mean of each row over the aspects it has, 0 if it has none.

    Examples
    --------
    >>> mean_residuals(np.float32([[1, 3], [2, np.nan], [np.nan, np.nan]]))
    array([2., 2., 0.], dtype=float32)
    """
    known = ~np.isnan(residuals)
    total = np.where(known, residuals, 0.0).sum(axis=1)
    return (total / np.maximum(known.sum(axis=1), 1)).astype(np.float32)


def regress_left(
    rows: SparseRows,
    n_items: int,
    regularization: float,
    weights_per_item: int | None,
    threads: int | None,
) -> ItemWeights:
    """Regress what is left of ratings item on item; keep all weights, or the largest.

    Parameters
    ----------
    rows : SparseRows
        What is left of the ratings of each user.
    n_items : int
        Number of items.
    regularization : float
        Weight of the squared weights, in variances of what is left.
    weights_per_item : int or None
        How many weights of each item are kept; None: all.
    threads : int or None
        Number of threads.
    """
    variance = max(float(np.square(rows.values).mean()), 1e-9)
    ridge = Ridge(regularization * variance)
    return regress_items(rows, n_items, ridge, weights_per_item, threads).weights


def spans_of(pointer: Int64s, users: int) -> Int64s:
    """Return where the rows of each user start and end; users beyond the pointer have none.

    Users who are folded in get rows after all others: a pointer cannot say that.

    Examples
    --------
    >>> spans_of(np.array([0, 2, 5]), users=3).tolist()
    [[0, 2], [2, 5], [0, 0]]
    """
    spans = np.zeros((users, 2), dtype=np.int64)
    spans[: len(pointer) - 1] = np.column_stack([pointer[:-1], pointer[1:]])
    return spans


class PersonalPart(NamedTuple):
    """What the residuals of a user's ratings foretell of others: rows of YB.

    Attributes
    ----------
    weights : dense or sparse weights
        B.
    left : SparseRows
        Y, what is left of ratings times its strength; that of user u is row 2u.
    """

    weights: ItemWeights
    left: SparseRows

    @classmethod
    def from_arrays(cls, arrays: Arrays, users: int) -> PersonalPart | None:
        """Take the arrays of a model with so many users; None if it has no personal part."""
        weights = item_weights.from_arrays(arrays, _WEIGHTS)
        if weights is None:
            return None
        if "personal_spans" in arrays:
            spans = arrays["personal_spans"]
        else:  # a file from before users could be folded in
            spans = spans_of(arrays["personal_pointer"], users)
        left = SparseRows(spans.reshape(-1), arrays["personal_items"], arrays["personal_left"])
        return cls(weights, left)

    def block(self, users: Codes, threads: int | None) -> Float32s:
        """Return the part of some users and all items that the regression knows."""
        return item_weights.score_all(self.left, 2 * users, self.weights, threads)

    def pairs(self, users: Codes, items: Codes, threads: int | None) -> Float32s:
        """Return the part of (user, item) pairs; 0 for an item that was folded in."""
        known = items < item_weights.count_items(self.weights)
        scores = np.zeros(len(users), dtype=np.float32)
        scores[known] = item_weights.score_pairs(
            self.left, 2 * users[known], items[known], self.weights, threads
        )
        return scores


def personal_arrays(weights: ItemWeights, rows: SparseRows, strength: float) -> dict[str, Array]:
    """Return the arrays that a model keeps of its personal part."""
    return {
        **item_weights.to_arrays(weights, _WEIGHTS),
        "personal_strength": np.array([strength], dtype=np.float32),
        "personal_spans": spans_of(rows.pointer, len(rows.pointer) - 1),
        "personal_items": rows.items,
        "personal_left": np.float32(strength) * rows.values,
    }


def personal_layout(shapes: Shapes, users: int, items: int) -> dict[str, Kept]:
    """Return what these arrays must be; none of them if a file has no weights of a personal part.

    Items that were folded in have no weights.
    """
    dense, sparse = length_of(shapes, _WEIGHTS), length_of(shapes, f"{_WEIGHTS}_pointer") - 1
    known = min(max(dense, sparse), items)
    if known <= 0:
        return {}
    rated = length_of(shapes, "personal_items")
    older = length_of(shapes, "personal_pointer")  # from before users could be folded in
    strength = floats(1, low=0)
    places = (
        {"personal_pointer": pointer(min(older - 1, users), rated)}
        if older
        else {"personal_spans": spans(users, rated)}
    )
    return {
        **item_weights.layout(shapes, known, _WEIGHTS),
        **places,
        "personal_strength": strength.maybe() if older else strength,
        "personal_items": codes(rated, known),
        "personal_left": floats(rated),
    }


def personal_strength(users: Codes, left: Float32s, foretold: Float32s) -> float:
    """Return what to multiply a foretold residual with: the slope of what was left on it.

    Only differences among the ratings of one user count, for only they order items. 0 if the slope
    may as well be 0.

    Parameters
    ----------
    users : int array, n
        The user of each held-out rating.
    left, foretold : float32 arrays, n
        Residual of the rating, and what was foretold of it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users, foretold = np.arange(1000) // 10, rng.normal(size=1000).astype(np.float32)
    >>> 0.4 < personal_strength(users, 0.5 * foretold + rng.normal(size=1000), foretold) < 0.6
    True
    >>> personal_strength(users, rng.normal(size=1000), foretold)
    0.0
    """
    _, own = np.unique(users, return_inverse=True)
    counts = np.maximum(np.bincount(own), 1)

    def within(values: Float32s) -> Floats:
        return values - (np.bincount(own, values) / counts)[own]

    x, y = within(foretold), within(left)
    xx = float(x @ x)
    if xx <= 1e-12:
        return 0.0
    slope = float(x @ y) / xx
    freedom = max(len(x) - len(counts) - 1, 1)
    error = float(np.sqrt(np.square(y - slope * x).sum() / freedom / xx))
    return min(slope, _LARGEST) if slope > _SURE * error else 0.0
