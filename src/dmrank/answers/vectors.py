"""The vectors of a model, for a vector store or an index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from dmrank.fitted.contract import By, FittedModel
from dmrank.fitted.scorers import Vectors
from dmrank.support.arrays import Float32s
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

    users: Float32s
    items: Float32s
    user_ids: pl.Series
    item_ids: pl.Series

    def __iter__(self) -> Iterator[Float32s]:
        return iter((self.users, self.items))

    def user_table(self) -> pl.DataFrame:
        """Return columns user and vector, of fixed width; `.to_arrow()` makes it Arrow."""
        return _table("user", self.user_ids, self.users)

    def item_table(self) -> pl.DataFrame:
        """Return columns item and vector, of fixed width; `.to_arrow()` makes it Arrow.

        Examples
        --------
        >>> from dmrank import IALS, make_ratings
        >>> model = IALS(factors=4).fit(make_ratings(50, 20, 500, seed=1).ratings)
        >>> model.vectors().item_table().shape
        (20, 2)
        """
        return _table("item", self.item_ids, self.items)


def _table(kind: str, ids: pl.Series, vectors: Float32s) -> pl.DataFrame:
    width = pl.Array(pl.Float32, vectors.shape[1])
    return pl.DataFrame([ids.alias(kind), pl.Series("vector", vectors, dtype=width)])


def vectors(model: FittedModel, by: By) -> ExportedVectors:
    """Return vectors whose dot product is the score for a mix of aspects; see `Model.vectors`."""
    scorer = rating_vectors(model, by)
    catalogue = model.catalogue
    users = np.flatnonzero(np.diff(catalogue.seen_pointer))
    items = np.flatnonzero(catalogue.rated_items)
    return ExportedVectors(
        np.ascontiguousarray(scorer.of_users(users), dtype=np.float32),
        np.ascontiguousarray(scorer.items[items], dtype=np.float32),
        catalogue.users.names(users),
        catalogue.items.names(items),
    )


def rating_vectors(model: FittedModel, by: By) -> Vectors:
    """Return the vectors that rank by a mix of aspects on the scale of the ratings."""
    scorer = model.rating_scorer(model.weights(by))
    if not isinstance(scorer, Vectors):
        raise UnsupportedError(
            f"the scores of {type(model).__name__} are no dot products, so that it has no "
            f"vectors to hand out: use recommend; for vectors {model.vectors_are_with}"
        )
    return scorer
