"""Item vectors, laid out once for many rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.ranking.scoring import as_matrix, largest
from dmrank.support.arrays import Bools, Float32s, Int32s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# With fewer items than this left, copying their vectors costs less than scoring all.
_FEW = 0.5


class ItemColumns(NamedTuple):
    """Item vectors as the kernels read them: one row per factor, and only items that take part.

    Attributes
    ----------
    columns
        Of shape (factors, items that take part).
    codes
        Their codes, ascending.
    n_items
        Number of all items.
    largest
        The largest absolute value in `columns`.
    """

    columns: Float32s
    codes: Int32s
    n_items: int
    largest: float

    def among(self, allowed: ArrayLike | None) -> tuple[ItemColumns, Bools]:
        """Return the items to score, and which of them may be returned.

        Parameters
        ----------
        allowed
            True for the items, of all, that may be returned; None means every one.
        """
        if allowed is None:
            return self, np.ones(len(self.codes), np.bool_)
        mask = allowed_mask(allowed, self.n_items)[self.codes]
        if mask.sum() >= _FEW * len(mask):
            return self, mask
        kept = np.flatnonzero(mask)
        # np.take makes rows contiguous, which fancy indexing of the second axis may not.
        some = self._replace(columns=np.take(self.columns, kept, axis=1), codes=self.codes[kept])
        return some, np.ones(len(kept), np.bool_)


def item_columns(item_vectors: ArrayLike, allowed: ArrayLike | None = None) -> ItemColumns:
    """Lay out item vectors for many rankings.

    Parameters
    ----------
    item_vectors
        One row per item. In Fortran order it is used as it is, else copied.
    allowed
        True for the items that take part; by default all.

    Examples
    --------
    >>> item_columns([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], allowed=[True, False, True]).columns
    array([[1., 5.],
           [2., 6.]], dtype=float32)
    """
    vectors = as_matrix(item_vectors)
    n_items = len(vectors)
    codes = np.arange(n_items, dtype=np.int32)
    if allowed is not None:
        codes = codes[allowed_mask(allowed, n_items)]
    columns = np.ascontiguousarray((vectors if len(codes) == n_items else vectors[codes]).T)
    return ItemColumns(columns, codes, n_items, largest(columns))


def allowed_mask(allowed: ArrayLike, n_items: int) -> Bools:
    """Return a mask of items, after a check that it has one truth value for each."""
    mask = np.asarray(allowed, dtype=np.bool_)
    if mask.shape != (n_items,):
        raise DataError(f"allowed has shape {mask.shape}: give one truth value for {n_items} items")
    return mask
