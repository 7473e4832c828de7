"""What training reads: plain arrays, nothing hidden."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.data.rows import groups_of_rows
from dmrank.data.training_scale import to_training_scale
from dmrank.support.arrays import Float32s, Int32s, Int64s
from dmrank.support.errors import DataError
from dmrank.training.sums import blocks_of

Missing = Literal["zero", "marginalize"]


class TrainingData(NamedTuple):
    """Rating vectors sorted by user and item, as `training_data` makes it.

    Attributes
    ----------
    user_ptr
        Rows of user u are ``user_ptr[u]`` to ``user_ptr[u + 1]`` (int64).
    items
        Item code of each row, ascending within a user (int32).
    values
        Ratings on the scale 1–5, one column per aspect, NaN where missing (float32).
    row_users
        User code of each row (int32).
    item_counts
        Number of rows of each item (int32); its length is the number of items.
    complete
        Whether no value is missing.
    row_chances, row_aliases
        How rows are drawn that do not count alike (`pairwise.row_weights`); empty: all alike.
    """

    user_ptr: Int64s
    items: Int32s
    values: Float32s
    row_users: Int32s
    item_counts: Int32s
    complete: bool
    row_chances: Float32s
    row_aliases: Int64s


def training_data(
    user_ptr: Int64s,
    items: Int32s,
    values: Float32s,
    n_items: int,
    missing: Missing = "marginalize",
) -> TrainingData:
    """Check the arrays of a training set and add what can be derived from them.

    Parameters
    ----------
    user_ptr, items, values
        See `TrainingData`.
    n_items
        Number of items, rated or not.
    missing
        ``"marginalize"`` leaves a missing aspect out of a pair, ``"zero"`` counts it as rated 0.

    Examples
    --------
    >>> values = np.array([[5, 4], [1, np.nan], [3, 3]], dtype=np.float32)
    >>> data = training_data(np.array([0, 2, 3]), np.array([0, 2, 1]), values, n_items=3)
    >>> data.row_users.tolist(), data.item_counts.tolist(), data.complete
    ([0, 0, 1], [1, 1, 1], False)
    """
    rows = len(items)
    if n_items < 2 or rows == 0:
        raise DataError(f"{rows} ratings of {n_items} items: pairs need a rating and two items")
    values = fill_missing(np.ascontiguousarray(values, dtype=np.float32), missing)
    return TrainingData(
        user_ptr=np.ascontiguousarray(user_ptr, dtype=np.int64),
        items=np.ascontiguousarray(items, dtype=np.int32),
        values=values,
        row_users=groups_of_rows(user_ptr),
        item_counts=np.bincount(items, minlength=n_items).astype(np.int32),
        complete=not bool(np.isnan(values).any()),
        row_chances=np.empty(0, dtype=np.float32),
        row_aliases=np.empty(0, dtype=np.int64),
    )


def ratings_data(ratings: Ratings, missing: Missing = "marginalize") -> TrainingData:
    """Return ratings on the training scale 1–5, as training code takes them."""
    return training_data(
        ratings.user_pointer,
        ratings.item_codes,
        training_values(ratings),
        len(ratings.items),
        missing,
    )


def training_values(ratings: Ratings) -> Float32s:
    """Return ratings on the training scale 1–5, NaN where missing."""
    values = np.empty(ratings.values.shape, dtype=np.float32)
    for block in blocks_of(len(values)):
        values[block] = to_training_scale(ratings.values[block], ratings.scale)
    return values


class RowValues(Protocol):
    """Ratings on the training scale by row: an array, or what makes the rows that are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and aspects."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single precision."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, rows: Any) -> Float32s:
        """Return some rows."""


class ScaledRows:
    """Ratings on the training scale, made when they are asked for: they are as many as there are.

    Parameters
    ----------
    ratings : Ratings
        The ratings on their own scale.
    missing : {"marginalize", "zero"}
        See `training_data`.

    Examples
    --------
    >>> from dmrank import Ratings
    >>> ratings = Ratings.from_arrays("aab", "xyx", [[10], [0], [5]], aspects=["r"], scale=(0, 10))
    >>> ScaledRows(ratings, "marginalize")[:2].tolist()
    [[5.0], [1.0]]
    """

    def __init__(self, ratings: Ratings, missing: Missing) -> None:
        self._ratings, self._missing = ratings, missing
        self.shape, self.dtype = ratings.values.shape, np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self._ratings)

    def __getitem__(self, rows: Any) -> Float32s:
        scaled = to_training_scale(self._ratings.values[rows], self._ratings.scale)
        return fill_missing(scaled.astype(np.float32), self._missing)


def fill_missing(values: Float32s, missing: Missing) -> Float32s:
    """Return ratings with their missing aspects as a model counts them.

    Parameters
    ----------
    values
        Ratings, NaN where an aspect is missing.
    missing
        ``"zero"`` counts it as rated 0, ``"marginalize"`` leaves NaN.

    Examples
    --------
    >>> fill_missing(np.array([[4, np.nan]], dtype=np.float32), "zero")
    array([[4., 0.]], dtype=float32)
    """
    return np.nan_to_num(values, nan=0.0) if missing == "zero" else values
