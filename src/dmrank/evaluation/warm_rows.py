"""The test rows that a model can be asked about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmrank.data.ratings import Split
from dmrank.data.training_scale import to_training_scale
from dmrank.support.errors import DataError


class WarmRows(NamedTuple):
    """Test rows whose user and item have a training row, sorted by user, then item.

    Attributes
    ----------
    users, items : int64 arrays, n
        Codes.
    values : float64 array, n × K
        Ratings on the aspects of training, mapped to the training scale 1–5; NaN where missing.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    values: NDArray[np.float64]

    def select(self, rows: NDArray[np.bool_]) -> WarmRows:
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
    train, test = split.train, split.test
    for name in test.aspects:
        if name not in train.aspects:
            raise DataError(
                f"test has the aspect {name!r}, which training lacks; training has "
                f"{', '.join(train.aspects)}"
            )
    rows = np.flatnonzero(~split.cold_rows(test))
    values = np.full((len(rows), len(train.aspects)), np.nan)
    values[:, [train.aspect(name) for name in test.aspects]] = test.values[rows]
    return WarmRows(
        users=test.user_codes[rows].astype(np.int64),
        items=test.item_codes[rows].astype(np.int64),
        values=to_training_scale(values, train.scale),
    )
