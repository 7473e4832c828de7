"""The vectors of a model, for a vector store or an index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.fitted.contract import By, Hooks
from dmrank.fitted.scorers import Vectors
from dmrank.support.errors import UnsupportedError


@dataclass(frozen=True, eq=False)
class ExportedVectors:
    """Vectors whose dot product is the score by which `recommend` ranks.

    ``users, items = model.vectors()`` takes the arrays alone.

    Attributes
    ----------
    users, items : float32 arrays
        One row for each user or item with a training rating.
    user_ids, item_ids : polars.Series
        Their ids, in the order of the rows.
    """

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    user_ids: pl.Series
    item_ids: pl.Series

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return iter((self.users, self.items))

    def user_table(self) -> pl.DataFrame:
        """Return columns user and vector, of fixed width; `.to_arrow()` makes it Arrow."""
        return _table("user", self.user_ids, self.users)

    def item_table(self) -> pl.DataFrame:
        """Return columns item and vector, of fixed width; `.to_arrow()` makes it Arrow."""
        return _table("item", self.item_ids, self.items)


def _table(kind: str, ids: pl.Series, vectors: NDArray[np.float32]) -> pl.DataFrame:
    width = pl.Array(pl.Float32, vectors.shape[1])
    return pl.DataFrame([ids.alias(kind), pl.Series("vector", vectors, dtype=width)])


class Exporting(Hooks):
    """What hands out vectors."""

    def vectors(self, by: By = None) -> ExportedVectors:
        """Return vectors of users and items whose dot product is the score for a mix of aspects.

        A vector store that searches by inner product then ranks as `recommend` does.

        Parameters
        ----------
        by : str or mapping of str to float, optional
            The aspect to rank by, or a mix; by default the primary aspect.

        Raises
        ------
        UnsupportedError
            If the scores of the model are no dot products (EASE, SPSMTL).

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(100, 30, 2_000, seed=1).ratings
        >>> vectors = dmrank.MBPR(factors=4, iterations=50, seed=1).fit(ratings).vectors("value")
        >>> users, items = vectors
        >>> items.shape == (30, users.shape[1])
        True
        >>> vectors.item_table().columns
        ['item', 'vector']
        """
        vectors = self._mixed_vectors(by)
        catalogue = self.catalogue
        users = np.flatnonzero(np.diff(catalogue.seen_pointer))
        items = np.flatnonzero(catalogue.rated_items)
        return ExportedVectors(
            np.ascontiguousarray(vectors.of_users(users), dtype=np.float32),
            np.ascontiguousarray(vectors.items[items], dtype=np.float32),
            catalogue.users.names(users),
            catalogue.items.names(items),
        )

    def _mixed_vectors(self, by: By) -> Vectors:
        """Return the vectors that rank by a mix of aspects on the scale of the ratings."""
        scorer = self._scorer(self._weights(by) * self._calibration.slope)
        if not isinstance(scorer, Vectors):
            raise UnsupportedError(
                f"the scores of {type(self).__name__} are no dot products, so that it has no "
                "vectors to hand out: use recommend, or a model with factors"
            )
        return scorer
