"""How much of the catalogue is ever recommended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Coverage:
    """Share of the candidates that are among the first k places of at least one user.

    One value of all users together: no user has one of their own.

    Parameters
    ----------
    k
        Depth, at least 1.

    Examples
    --------
    Two users with lists of two items, out of four:

    >>> metric = Coverage(2)
    >>> print(metric, metric([[0, 3], [3, -1]], n_candidates=4))
    coverage@2 0.5
    """

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"{self}: give a depth of at least 1, such as coverage@10")

    def __str__(self) -> str:
        return f"coverage@{self.k}"

    def __call__(self, top_items: ArrayLike, n_candidates: int) -> float:
        """Measure the lists of all users.

        Parameters
        ----------
        top_items
            One row of items per user, best first, filled up with −1.
        n_candidates
            Number of items that could be listed.
        """
        listed = np.unique(np.asarray(top_items)[:, : self.k])
        return float((listed >= 0).sum() / n_candidates)
