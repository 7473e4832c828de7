"""What alternating least squares solve: observed values by row, what is held, and priors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.data.rows import group_rows
from dmrank.support.arrays import Codes, Float32s, Floats, Int64s
from dmrank.training.sums import add_up, blocks_of

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData


class Observed(NamedTuple):
    """Ratings grouped by user or by item, one group per row of the table to solve.

    Attributes
    ----------
    pointer
        Ratings of row r are ``pointer[r]`` to ``pointer[r + 1]``.
    others
        The item of each rating if rows are users, its user if they are items.
    values
        y, one column per aspect, NaN where missing.
    """

    pointer: Int64s
    others: Codes
    values: Float32s


class Prior(NamedTuple):
    """Gaussian prior of the rows of a table: row x costs ridge ‖x − centre‖².

    Attributes
    ----------
    ridge
        ρ, one number above 0 per row.
    centre
        c, the same for all rows.
    """

    ridge: Floats
    centre: Floats

    def cost(self, table: Float32s) -> float:
        """Return what all rows together cost.

        Examples
        --------
        >>> Prior(np.array([1.0, 2.0]), np.ones(2)).cost(np.array([[1, 3], [0, 1]], np.float32))
        6.0
        """
        return add_up(
            float(self.ridge[block] @ np.square(table[block] - self.centre).sum(axis=1))
            for block in blocks_of(len(table))
        )


class Problem(NamedTuple):
    """Least squares for every row of a table.

    Attributes
    ----------
    observed
        The values y, grouped by the rows to solve for.
    others, aspects
        The factors that are held.
    prior
        ρ and c.
    shared
        S, the same for all rows.
    """

    observed: Observed
    others: Float32s
    aspects: Float32s
    prior: Prior
    shared: Floats


def by_user(data: TrainingData) -> Observed:
    """Return ratings grouped by user."""
    return reading(Observed(data.user_ptr, data.items, data.values))


def by_item(data: TrainingData) -> Observed:
    """Return ratings grouped by item."""
    rows, pointer = group_rows(data.items, len(data.item_counts))
    return reading(Observed(pointer, data.row_users[rows], data.values[rows]))
