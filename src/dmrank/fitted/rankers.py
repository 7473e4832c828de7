"""What ranks by one mix of aspects, made once for many questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dmrank.fitted.cache import Kept
from dmrank.fitted.scorers import Blocks, Codes, Vectors
from dmrank.ranking import (
    ItemColumns,
    ItemLists,
    TopN,
    best_of_lists,
    item_columns,
    score_lists,
    top_n,
)


@dataclass(frozen=True)
class VectorRanker:
    """Ranks by dot products; only items that take part have columns."""

    vectors: Vectors
    columns: ItemColumns

    def top_n(
        self,
        users: Codes,
        n: int,
        excluded: ItemLists,
        allowed: NDArray[np.bool_] | None,
        threads: int | None,
    ) -> TopN:
        """Return the best items of each user that are allowed and not excluded for it."""
        rows = self.vectors.of_users(users)
        return top_n(rows, self.columns, n, *excluded, allowed, threads)

    def best_of(self, users: Codes, n: int, lists: ItemLists, threads: int | None) -> TopN:
        """Return the best items of each user's own list."""
        rows = self.vectors.of_users(users)
        return best_of_lists(score_lists(rows, self.vectors.items, *lists, threads), *lists, n)


@dataclass(frozen=True)
class BlockRanker:
    """Ranks by scores of whole blocks, among the items that take part."""

    blocks: Blocks
    taking_part: NDArray[np.bool_]

    def top_n(
        self,
        users: Codes,
        n: int,
        excluded: ItemLists,
        allowed: NDArray[np.bool_] | None,
        threads: int | None,
    ) -> TopN:
        """Return the best items of each user that are allowed and not excluded for it."""
        mask = self.taking_part if allowed is None else self.taking_part & allowed
        return self.blocks.top_n(users, n, excluded, threads, mask)

    def best_of(self, users: Codes, n: int, lists: ItemLists, threads: int | None) -> TopN:  # noqa: ARG002
        """Return the best items of each user's own list."""
        rows = np.repeat(users, np.diff(lists.pointer))
        return best_of_lists(self.blocks.of_pairs(rows, lists.items), *lists, n)


Ranker: TypeAlias = VectorRanker | BlockRanker


def make_ranker(
    scorer: Vectors | Blocks, taking_part: NDArray[np.bool_], kept: Kept | None = None
) -> Ranker:
    """Prepare a scorer for many rankings of the items that take part.

    Mixes of aspects that have the same item vectors share their columns through `kept`.
    """
    if not isinstance(scorer, Vectors):
        return BlockRanker(scorer, taking_part)
    items = scorer.items
    if kept is None:
        return VectorRanker(scorer, item_columns(items, taking_part))
    # What is kept holds on to the array, so that no other can have its identity.
    _, columns = kept(("columns", id(items)), lambda: (items, item_columns(items, taking_part)))
    return VectorRanker(scorer, columns)
