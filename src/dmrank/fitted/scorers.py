"""What a model ranks with: vectors whose dot products are scores, or scores block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dmrank.ranking import (
    ItemLists,
    RankQuery,
    TopN,
    ranks_of_items,
    ranks_of_items_scores,
    top_n,
    top_n_scores,
)

#: Users whose scores are computed at once by models without vectors.
_BLOCK = 256
#: Pairs whose vectors are gathered at once.
_PAIRS = 1 << 16

Codes: TypeAlias = NDArray[np.integer]


class Vectors(NamedTuple):
    """Scores as dot products: score(u, i) = (users[u] * mix) · items[i].

    Attributes
    ----------
    users, items : float32 arrays
        A row for each. Items may have more columns than users: offsets, where every user has 1.
    mix : float32 array, optional
        What each factor of every user counts; so a table of all users needs no copy.
    """

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    mix: NDArray[np.float32] | None = None

    def of_users(self, users: Codes | slice = slice(None)) -> NDArray[np.float32]:
        """Return the vectors of some users, ready for a dot product with those of items."""
        rows = self.users[users]
        if self.mix is not None:
            rows = rows * self.mix
        offsets = self.items.shape[1] - rows.shape[1]
        if offsets:
            rows = np.column_stack([rows, np.ones((len(rows), offsets), dtype=np.float32)])
        return rows

    def top_n(self, users: Codes, n: int, excluded: ItemLists, threads: int | None) -> TopN:
        """Return the best items of each user that are not excluded for it."""
        return top_n(self.of_users(users), self.items, n, *excluded, threads=threads)

    def ranks(self, users: Codes, query: RankQuery, threads: int | None) -> NDArray[np.int64]:
        """Return the rank of each query item in the full ranking of its user."""
        return ranks_of_items(
            self.of_users(users),
            self.items,
            *query.items,
            query.gains,
            *query.excluded,
            query.candidates,
            threads=threads,
        )

    def of_pairs(self, users: Codes, items: Codes) -> NDArray[np.float32]:
        """Return the scores of (user, item) pairs."""
        scores = np.empty(len(users), dtype=np.float32)
        for start in range(0, len(users), _PAIRS):
            rows = slice(start, start + _PAIRS)
            np.einsum(
                "nf,nf->n", self.of_users(users[rows]), self.items[items[rows]], out=scores[rows]
            )
        return scores


@dataclass(frozen=True)
class Blocks:
    """Scores that are computed for some users and all items at once."""

    score: Callable[[Codes], NDArray[np.float32]]

    def top_n(
        self,
        users: Codes,
        n: int,
        excluded: ItemLists,
        threads: int | None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> TopN:
        """Return the best items of each user that are allowed and not excluded for it."""
        parts = [
            top_n_scores(self.score(users[rows]), n, *own, allowed, threads)
            for rows, own in _blocks(len(users), excluded)
        ]
        items, scores = zip(*parts, strict=True)
        return TopN(np.concatenate(items), np.concatenate(scores))

    def ranks(self, users: Codes, query: RankQuery, threads: int | None) -> NDArray[np.int64]:
        """Return the rank of each query item in the full ranking of its user."""
        parts = [
            ranks_of_items_scores(
                self.score(users[rows]),
                *query.items.of(rows.start, rows.stop),
                query.gains[query.items.pointer[rows.start] : query.items.pointer[rows.stop]],
                *own,
                query.candidates,
                threads=threads,
            )
            for rows, own in _blocks(len(users), query.excluded)
        ]
        return np.concatenate(parts)

    def of_pairs(self, users: Codes, items: Codes) -> NDArray[np.float32]:
        """Return the scores of (user, item) pairs."""
        scores = np.empty(len(users), dtype=np.float32)
        query, row_of = np.unique(users, return_inverse=True)
        order = np.argsort(row_of, kind="stable")
        ends = np.searchsorted(row_of[order], np.arange(len(query) + 1))
        for start in range(0, len(query), _BLOCK):
            stop = min(start + _BLOCK, len(query))
            rows = order[ends[start] : ends[stop]]
            scores[rows] = self.score(query[start:stop])[row_of[rows] - start, items[rows]]
        return scores


Scorer: TypeAlias = Vectors | Blocks


def _blocks(users: int, lists: ItemLists) -> Iterator[tuple[slice, ItemLists]]:
    for start in range(0, users, _BLOCK):
        stop = min(start + _BLOCK, users)
        yield slice(start, stop), lists.of(start, stop)
