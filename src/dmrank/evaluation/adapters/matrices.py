"""A matrix of scores, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dmrank.evaluation.adapters.adapted import AdaptedScores
from dmrank.support.arrays import AnyFloats, Int64s
from dmrank.support.errors import ConfigError, DataError


def adapt_matrix(
    matrix: Any,
    users: Iterable[object] | None,
    items: Iterable[object] | None,
) -> AdaptedScores:
    """Take a NumPy or SciPy matrix with a row per user and a column per item."""
    if users is None or items is None:
        raise ConfigError(
            "a matrix of scores has no ids: give dmrank.adapt(matrix, users=…, items=…), the ids "
            "of its rows and columns"
        )
    row_ids, column_ids = list(users), list(items)
    if matrix.shape != (len(row_ids), len(column_ids)):
        raise DataError(
            f"a matrix of scores of shape {matrix.shape} does not go with {len(row_ids):,} users "
            f"and {len(column_ids):,} items: give an id for each row and column"
        )
    if isinstance(matrix, np.ndarray):
        return AdaptedScores("scores", row_ids, column_ids, lambda rows: matrix[rows])
    stored = matrix.tocsr()
    if stored.nnz and stored.data.min() < 0:
        raise DataError(
            "a sparse matrix has scores below 0, and what it does not store would be above them: "
            "give a dense matrix, or a table of lists"
        )

    def score(rows: Int64s) -> AnyFloats:
        return np.asarray(stored[rows].toarray(), dtype=np.float64)

    return AdaptedScores("scores", row_ids, column_ids, score)
