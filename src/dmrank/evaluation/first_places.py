"""The first places of the test users' full rankings, for metrics of all users together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmrank.models.held_out import HeldOut
from dmrank.models.scores import Blocks, ItemLists, Scorer, Vectors


def first_places(
    held_out: HeldOut, scorer: Scorer, k: int, threads: int | None = None
) -> NDArray[np.int32]:
    """Return the k best candidates of each test user, filled up with −1.

    Items are numbered among the candidates. What a user rated before is not listed.
    """
    items = np.flatnonzero(held_out.candidates)
    among = _restricted(scorer, items)
    excluded = _renumbered(held_out.excluded, held_out.candidates)
    return among.top_n(held_out.users, min(k, len(items)), excluded, threads).items


def _restricted(scorer: Scorer, items: NDArray[np.int64]) -> Scorer:
    if isinstance(scorer, Vectors):
        return scorer._replace(items=scorer.items[items])
    return Blocks(lambda users: scorer.score(users)[:, items])


def _renumbered(lists: ItemLists, candidates: NDArray[np.bool_]) -> ItemLists:
    """Drop what is no candidate, and number the others among the candidates."""
    kept = candidates[lists.items]
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    number = (np.cumsum(candidates) - 1).astype(np.int32)
    return ItemLists(kept_before[lists.pointer], number[lists.items[kept]])
