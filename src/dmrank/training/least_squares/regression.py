"""From XᵀX to the weights of a regression of items on items: Λ, the inverse, and what is kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.support.arrays import Float32s
from dmrank.support.errors import ConfigError
from dmrank.training.least_squares.item_regression import regress
from dmrank.training.least_squares.item_weights import ItemWeights
from dmrank.training.least_squares.pruned_weights import prune


class Ridge(NamedTuple):
    """The diagonal of Λ: λ, and a share of that of XᵀX beside it.

    Examples
    --------
    >>> Ridge(10.0, 0.5).of(np.float32([2, 4]))
    array([11., 12.], dtype=float32)
    """

    regularization: float
    share: float = 0.0

    def of(self, diagonal: Float32s) -> Float32s:
        """Return the diagonal of Λ, given that of XᵀX."""
        return np.asarray(self.regularization + self.share * diagonal, dtype=np.float32)

    def check_precision(self, products: Float32s) -> None:
        """Refuse a λ that the rounding of XᵀX would hide."""
        least = float(np.finfo(np.float32).eps * products.sum(axis=1).max())
        if self.regularization < least:
            raise ConfigError(
                f"regularization={self.regularization:g} is lost in the rounding of single "
                f"precision: with these ratings give at least {least:.1g}, better 1 or more"
            )


class Regressed(NamedTuple):
    """B, and what was lost of it.

    Attributes
    ----------
    weights : float32 array or SparseRows
        All of them, or the largest of each column.
    lost : float
        The share of the squared weights that was dropped.
    """

    weights: ItemWeights
    lost: float


def regress_on_others(
    products: Float32s, ridge: Ridge, weights_per_item: int | None, threads: int | None
) -> Regressed:
    """Regress every item on all others, given XᵀX, which is overwritten.

    Parameters
    ----------
    products : float32 array, N × N
        XᵀX.
    ridge : Ridge
        The diagonal of Λ.
    weights_per_item : int or None
        How many weights of each column are kept, the largest; None: all.
    threads : int or None
        Number of threads.
    """
    weights = regress(products, ridge.of(products.diagonal()), threads)
    if weights_per_item is None:
        return Regressed(weights, 0.0)
    return Regressed(*prune(weights, weights_per_item))
