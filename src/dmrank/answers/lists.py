"""Lists of items as a table."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.fitted.contract import Hooks
from dmrank.fitted.scorers import Codes
from dmrank.ranking import TopN
from dmrank.support.errors import ConfigError


def check_length(n: object) -> None:
    """Refuse a length of lists that is no whole number from 1 on."""
    if not isinstance(n, int | np.integer) or n < 1:
        raise ConfigError(f"n={n!r}: ask for at least one item, by a whole number")


def list_table(
    model: Hooks,
    names: list[str],
    users: Codes,
    best: TopN,
    *,
    aspects: bool = False,
    personal: bool = False,
) -> pl.DataFrame:
    """Return the lists of users, one row per item.

    Parameters
    ----------
    model : Hooks
        What made the lists.
    names : list of str
        Ids of the users.
    users : int array
        Their codes, −1 for one that the model does not know.
    best : TopN
        Their lists.
    aspects : bool
        Add a column per aspect with the predicted rating, or the mean of the item's ratings for a
        user that is not known.
    personal : bool
        Add a column that says whether the user is known.
    """
    catalogue = model.catalogue
    row, place = np.nonzero(best.items >= 0)
    items = best.items[row, place]
    columns = [
        pl.Series("user", names, dtype=pl.String)[row],
        pl.Series("rank", place + 1, dtype=pl.Int32),
        catalogue.items.names(items).alias("item"),
        pl.Series("score", best.scores[row, place], dtype=pl.Float32),
    ]
    if catalogue.item_names is not None:
        columns.append(catalogue.item_names[items].alias("item_name"))
    if personal:
        columns.append(pl.Series("personal", users[row] >= 0))
    if aspects:
        ratings = _ratings(model, users[row], items)
        taken = {column.name for column in columns}
        for k, name in enumerate(catalogue.aspects):
            shown = f"{name}_rating" if name in taken else name
            columns.append(pl.Series(shown, ratings[:, k], nan_to_null=True))
    return pl.DataFrame(columns)


def _ratings(model: Hooks, users: Codes, items: Codes) -> NDArray[np.float32]:
    known, evidence = users >= 0, model.catalogue.evidence
    ratings = np.full((len(users), len(model.catalogue.aspects)), np.nan, dtype=np.float32)
    if known.any():
        ratings[known] = model._ratings(users[known], items[known])
    if evidence is not None:
        ratings[~known] = evidence.item_means[items[~known]]
    return ratings
