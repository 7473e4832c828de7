"""Lists of many users, known or new, in parts that are made wherever there are workers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from dmrank.answers.lists import known_users
from dmrank.data.ids import Id
from dmrank.data.ratings import Ratings
from dmrank.distributed.blocks import fold_in_block, list_block
from dmrank.distributed.parts import Parts, PartSettings
from dmrank.models.opened import ModelFile, opened
from dmrank.support.batches import to_batch


def write_list_parts(
    model: ModelFile,
    users: Sequence[Id],
    n: int,
    options: dict[str, Any],
    settings: PartSettings,
) -> int:
    """Write the lists of users in parts, and return the number of rows.

    Parameters
    ----------
    model : ModelFile
        What ranks.
    users : sequence of ids
        Whose lists.
    n, options
        As in :meth:`dmrank.Model.recommend`.
    settings : PartSettings
        Where they go. A run that was killed goes on with its parts.
    """
    ranker = opened(model)
    # What is wrong is said before anything is sent away.
    ranker.recommend([], n, **options)
    known_users(ranker.catalogue, users, options.get("on_unknown", "raise"))
    asked, size = ranker.catalogue.users.column(users), settings.users_per_part
    parts = Parts(settings, {**_run(model, n, options), "users": _fingerprint(users)})
    blocks = (
        (to_batch(pl.DataFrame([asked[start : start + size]])),)
        for start in range(0, len(asked), size)
    )
    rank = partial(list_block, model, n=n, **options)
    return parts.make(rank, blocks, "ranking", -(-len(asked) // size))


def write_folded_in_parts(
    model: ModelFile,
    ratings: Ratings,
    n: int,
    options: dict[str, Any],
    settings: PartSettings,
) -> int:
    """Write the lists of users who are folded in with their ratings; see `write_list_parts`."""
    opened(model).recommend([], n, **options)
    ratings = ratings.compact()  # a user without ratings has nothing to be folded in with
    digest = hashlib.sha256()
    ratings.update_digest(digest)
    parts = Parts(settings, {**_run(model, n, options), "ratings": digest.hexdigest()[:16]})
    total = -(-len(ratings.users) // settings.users_per_part)
    blocks = ((to_batch(rows),) for rows in _blocks_of_users(ratings, settings.users_per_part))
    return parts.make(partial(fold_in_block, model, n=n, **options), blocks, "folding in", total)


def _blocks_of_users(ratings: Ratings, size: int) -> Iterator[pl.DataFrame]:
    """Cut ratings, which are in the order of their users, into blocks of users."""
    kept = ["user", "item", *ratings.aspects]
    pointer = ratings.user_pointer
    for start in range(0, len(ratings.users), size):
        stop = min(start + size, len(ratings.users))
        rows = ratings.select(np.arange(pointer[start], pointer[stop]))
        yield rows.to_polars().select(kept)


def _run(model: ModelFile, n: int, options: dict[str, Any]) -> dict[str, Any]:
    """Return what parts must have in common to be parts of one result."""
    filters = {
        name: value if value is None else _fingerprint(value)
        for name, value in options.items()
        if name in ("allow", "block")
    }
    return {"model": list(model), "n": n, **options, **filters}


def _fingerprint(names: Iterable[Id]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0".encode())
    return digest.hexdigest()[:16]
