"""Lists and folding in as functions of a model's file and a record batch.

They import no engine: Ray, Spark's `mapInArrow`, Dask, or a loop can run them (docs/cluster.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dmrank.models.opened import ModelSource, opened
from dmrank.support.batches import from_batch, to_batch

if TYPE_CHECKING:
    import pyarrow as pa


def list_block(
    model: ModelSource, users: pa.RecordBatch, n: int = 10, **options: Any
) -> pa.RecordBatch:
    """Rank items for a block of users.

    Parameters
    ----------
    model : path
        The model's file.
    users : pyarrow.RecordBatch
        A column ``user``.
    n : int
        Length of each list.
    **options
        As in :meth:`dmrank.Model.recommend`.

    Returns
    -------
    pyarrow.RecordBatch
        What `recommend` returns.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from dmrank import ItemMean, make_ratings
    >>> model = ItemMean().fit(make_ratings(50, 40, 500, seed=1).ratings)
    >>> file = model.save(f"{tempfile.mkdtemp()}/means.dmrank")
    >>> users = to_batch(pl.DataFrame({"user": ["u000003", "u000007"]}))
    >>> list_block(file, users, n=2, by="service").column("rank").to_pylist()
    [1, 2, 1, 2]
    """
    names = from_batch(users, "user")["user"].to_list()
    return to_batch(opened(model).recommend(names, n, **options))


def fold_in_block(
    model: ModelSource, ratings: pa.RecordBatch, n: int = 10, **options: Any
) -> pa.RecordBatch:
    """Fold the users of some ratings into a model, and rank items for them.

    Parameters
    ----------
    model : path
        The model's file, which stays as it is.
    ratings : pyarrow.RecordBatch
        ``user``, ``item`` and some of the model's aspects; all ratings of a user in one batch.
    n, options
        As in :func:`list_block`.

    Returns
    -------
    pyarrow.RecordBatch
        The lists of these users, in the order of their first ratings.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from dmrank import ItemMean, make_ratings
    >>> model = ItemMean().fit(make_ratings(50, 40, 500, seed=1).ratings)
    >>> file = model.save(f"{tempfile.mkdtemp()}/means.dmrank")
    >>> new = pl.DataFrame({"user": ["new"], "item": ["h000001"], "overall": [4.0]})
    >>> fold_in_block(file, to_batch(new), n=3).num_rows
    3
    """
    rows = from_batch(ratings, "user", "item")
    users = rows["user"].unique(maintain_order=True).to_list()
    return to_batch(opened(model).fold_in(rows).recommend(users, n, **options))
