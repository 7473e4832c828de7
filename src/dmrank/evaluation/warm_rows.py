"""The test rows that a model can be asked about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.data.ratings import Split
from dmrank.support.arrays import Bools, Floats, Int64s
from dmrank.training.held_out import HeldOut


class WarmRows(NamedTuple):
    """Test rows whose user and item have a training row, sorted by user, then item.

    Attributes
    ----------
    users, items : int64 arrays, n
        Codes.
    values : float64 array, n × K
        Ratings on the aspects of training, mapped to the training scale 1–5; NaN where missing.
    """

    users: Int64s
    items: Int64s
    values: Floats

    def select(self, rows: Bools) -> WarmRows:
        """Keep some rows."""
        return WarmRows(self.users[rows], self.items[rows], self.values[rows])


def warm_rows(split: Split) -> WarmRows:
    """Return the test rows of users and items that have a training row.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> warm_rows(make_ratings(50, 20, 500, seed=1).ratings.split()).values.shape
    (74, 8)
    """
    train = split.train
    known = HeldOut.from_ratings(train, split.test)
    return WarmRows(
        users=known.row_users.astype(np.int64),
        items=known.items.items.astype(np.int64),
        values=known.training_values(train),
    )
