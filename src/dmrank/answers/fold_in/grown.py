"""A model's arrays and catalogue with rows added or replaced, what is not touched being shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from dmrank.data.ratings import Side
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.evidence import Evidence
from dmrank.fitted.profiles import NewRows
from dmrank.support.arrays import Array, Bools, Codes, Float32s, Int32s, Int64s
from dmrank.support.lazy_arrays import LazyArrays


class GrownArrays(LazyArrays):
    """The arrays of a model with some rows added or replaced; each is made when it is asked for.

    Parameters
    ----------
    arrays : mapping of str to array
        The arrays, which stay as they are.
    rows : mapping of str to NewRows
        What is added or replaced.

    Examples
    --------
    >>> grown = GrownArrays({"a": np.zeros(2), "b": np.ones(1)}, {"a": NewRows(np.array([2]), 5.0)})
    >>> grown["a"], sorted(grown), "a" in grown
    (array([0., 0., 5.]), ['a', 'b'], True)
    """

    def __init__(self, arrays: Mapping[str, Array], rows: Mapping[str, NewRows]) -> None:
        super().__init__(
            {name: array for name, array in arrays.items() if name not in rows},
            {name: partial(more.put_into, arrays[name]) for name, more in rows.items()},
        )


def grown_catalogue(
    catalogue: Catalogue,
    side: Side,
    names: list[str],
    users: Codes,
    items: Codes,
    values: Float32s,
) -> Catalogue:
    """Return what a model remembers, with further ratings of one side's users or items.

    Parameters
    ----------
    catalogue : Catalogue
        Stays as it is.
    side : {"users", "items"}
        Whose averages the ratings are added to; those of the other side stay.
    names : list of str
        Ids that are new on that side.
    users, items : int arrays, n
        Codes, each pair once; new ones follow the last.
    values : float32 array, n × K
        The ratings on their own scale.
    """
    pointer, seen, new = _with_seen(catalogue, users, items, len(names) if side == "users" else 0)
    keys = users if side == "users" else items
    grown = replace(
        catalogue,
        seen_pointer=pointer,
        seen_items=seen,
        evidence=_with_evidence(catalogue.evidence, side, keys[new], values[new], len(names)),
    )
    rated = catalogue.rated_items
    if side == "users":
        grown = replace(grown, users=catalogue.users.extended(names))
    else:
        item_names = catalogue.item_names
        if item_names is not None:
            item_names = pl.concat([item_names, pl.Series(item_names.name, [""] * len(names))])
        grown = replace(grown, items=catalogue.items.extended(names), item_names=item_names)
        rated = np.append(rated, np.ones(len(names), dtype=np.bool_))
    # Known already: to count all ratings would take longer than to estimate a user.
    vars(grown)["rated_items"] = NewRows(np.unique(items), True).put_into(rated)
    return grown


def _with_seen(
    catalogue: Catalogue,
    users: Codes,
    items: Codes,
    more_users: int,
) -> tuple[Int64s, Int32s, Bools]:
    """Return who rated what with pairs added, and which of the pairs are new."""
    seen, known = catalogue.seen_items, len(catalogue.users)
    pointer = np.append(catalogue.seen_pointer, np.full(more_users, len(seen)))
    order = np.lexsort((items, users))
    if users[order[0]] >= known:
        # New users alone, the common case: their ratings follow all others.
        counts = np.bincount(users - known, minlength=more_users)
        pointer[known + 1 :] += np.cumsum(counts)
        return pointer, np.append(seen, items[order]).astype(np.int32, copy=False), users >= 0
    places, new = np.empty(len(users), dtype=np.int64), np.empty(len(users), dtype=np.bool_)
    for row in order:
        own = seen[pointer[users[row]] : pointer[users[row] + 1]]
        place = np.searchsorted(own, items[row])
        places[row] = pointer[users[row]] + place
        new[row] = place == len(own) or own[place] != items[row]
    added = order[new[order]]
    counts = np.bincount(users[added], minlength=len(pointer) - 1)
    pointer[1:] += np.cumsum(counts)
    return pointer, _inserted(seen, places[added], items[added]), new


def _inserted(array: Array, places: Codes, values: Array) -> Array:
    """Return `np.insert` at ascending places, in one copy: for few values it takes a third."""
    if len(values) == 0:
        return array
    parts = np.split(array, places)
    pairs = zip(parts, np.split(values.astype(array.dtype), len(values)), strict=False)
    return np.concatenate([part for pair in pairs for part in pair] + parts[-1:])


def _with_evidence(
    evidence: Evidence | None,
    side: Side,
    keys: Codes,
    values: Float32s,
    more: int,
) -> Evidence | None:
    """Return the averages of one side with ratings added."""
    if evidence is None:
        return None
    mean_name, count_name = f"{side[:-1]}_means", f"{side[:-1]}_counts"
    means, counts = evidence.arrays[mean_name], evidence.arrays[count_name]
    codes = np.union1d(keys, np.arange(len(means), len(means) + more))
    known = codes < len(means)
    sums, total = np.zeros((len(codes), means.shape[1])), np.zeros((len(codes), means.shape[1]))
    total[known] = counts[codes[known]]
    sums[known] = np.nan_to_num(means[codes[known]]) * total[known]
    own = np.searchsorted(codes, keys)
    np.add.at(sums, own, np.nan_to_num(values))
    np.add.at(total, own, ~np.isnan(values))
    averaged = np.where(total > 0, sums / np.maximum(total, 1), np.nan)
    rows = {mean_name: NewRows(codes, averaged), count_name: NewRows(codes, total)}
    return Evidence(GrownArrays(evidence.arrays, rows))
