"""What a model ranks with: vectors whose dot products are scores, or scores block by block.

A *scorer* gives the scores of one mix of aspects; a *ranker* is a scorer made ready for lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from dmrank.fitted.cache import Cache
from dmrank.ranking import (
    ItemColumns,
    ItemLists,
    RankQuery,
    TopN,
    best_of_lists,
    item_columns,
    ranks_of_items,
    ranks_of_items_scores,
    score_lists,
    top_n,
    top_n_scores,
)
from dmrank.ranking.scoring import users_at_once
from dmrank.support.arrays import Array, Bools, Codes, Float32s, Int64s

#: Users whose scores are computed at once by models without vectors.
_BLOCK = 256
#: Pairs whose vectors are gathered at once.
_PAIRS = 1 << 16


class Vectors(NamedTuple):
    """Scores as dot products: score(u, i) = (users[u] * mix) · items[i].

    Attributes
    ----------
    users, items : float32 arrays
        A row for each. Items may have more columns than users: offsets, where every user has 1.
    mix : float32 array, optional
        What each factor of every user counts; so a table of all users needs no copy.
    """

    users: Float32s
    items: Float32s
    mix: Float32s | None = None

    def of_users(self, users: Codes | slice = slice(None)) -> Float32s:
        """Return the vectors of some users, ready for a dot product with those of items."""
        rows = self.users[users]
        if self.mix is not None:
            rows = rows * self.mix
        offsets = self.items.shape[1] - rows.shape[1]
        if offsets:
            rows = np.column_stack([rows, np.ones((len(rows), offsets), dtype=np.float32)])
        return rows

    def ranks(self, users: Codes, query: RankQuery, threads: int | None) -> Int64s:
        """Return the rank of each asked item in the full ranking of its user."""
        return ranks_of_items(
            self.of_users(users),
            self.items,
            *query.items,
            query.gains,
            *query.excluded,
            query.candidates,
            threads=threads,
        )

    def of_pairs(self, users: Codes, items: Codes) -> Float32s:
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

    score: Callable[[Codes], Float32s]

    def ranks(self, users: Codes, query: RankQuery, threads: int | None) -> Int64s:
        """Return the rank of each asked item in the full ranking of its user."""
        parts = [
            ranks_of_items_scores(
                self.score(users[rows]),
                *query.items.of(rows.start, rows.stop),
                query.gains[query.items.pointer[rows.start] : query.items.pointer[rows.stop]],
                *own,
                query.candidates,
                threads=threads,
            )
            for rows, own in _blocks(len(users), query.excluded, len(query.candidates))
        ]
        return np.concatenate(parts)

    def of_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return the scores of (user, item) pairs."""
        scores = np.empty(len(users), dtype=np.float32)
        asked, row_of = np.unique(users, return_inverse=True)
        order = np.argsort(row_of, kind="stable")
        ends = np.searchsorted(row_of[order], np.arange(len(asked) + 1))
        for start in range(0, len(asked), _BLOCK):
            stop = min(start + _BLOCK, len(asked))
            rows = order[ends[start] : ends[stop]]
            scores[rows] = self.score(asked[start:stop])[row_of[rows] - start, items[rows]]
        return scores


Scorer: TypeAlias = Vectors | Blocks


class MixVectors(NamedTuple):
    """Scores as dot products for every mix: score(u, i; w) = of_users(u, w) · items[i].

    Attributes
    ----------
    items : float32 array
        A row for each item, whatever the mix.
    of_users : callable
        Takes users (n) and a mix for each (n × K), and returns their rows.
    """

    items: Float32s
    of_users: Callable[[Codes, Float32s], Float32s]


@dataclass(frozen=True)
class VectorRanker:
    """Ranks by dot products; only items of the mask have columns."""

    vectors: Vectors
    columns: ItemColumns

    def top_n(
        self, users: Codes, n: int, excluded: ItemLists, allowed: Bools | None, threads: int | None
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
    """Ranks by scores of whole blocks, among the items of a mask."""

    blocks: Blocks
    mask: Bools

    def top_n(
        self, users: Codes, n: int, excluded: ItemLists, allowed: Bools | None, threads: int | None
    ) -> TopN:
        """Return the best items of each user that are allowed and not excluded for it."""
        mask = self.mask if allowed is None else self.mask & allowed
        parts = [
            top_n_scores(self.blocks.score(users[rows]), n, *own, mask, threads)
            for rows, own in _blocks(len(users), excluded, len(mask))
        ]
        items, scores = zip(*parts, strict=True)
        return TopN(np.concatenate(items), np.concatenate(scores))

    def best_of(self, users: Codes, n: int, lists: ItemLists, threads: int | None) -> TopN:  # noqa: ARG002
        """Return the best items of each user's own list."""
        rows = np.repeat(users, np.diff(lists.pointer))
        return best_of_lists(self.blocks.of_pairs(rows, lists.items), *lists, n)


Ranker: TypeAlias = VectorRanker | BlockRanker


def make_ranker(scorer: Scorer, mask: Bools, cache: Cache | None = None) -> Ranker:
    """Prepare a scorer for many rankings of the items of a mask.

    Mixes of aspects that have the same item vectors share their columns through the cache.
    """
    if not isinstance(scorer, Vectors):
        return BlockRanker(scorer, mask)
    items = scorer.items
    if cache is None:
        return VectorRanker(scorer, item_columns(items, mask))
    # What is kept holds on to the array, so that no other can have its identity.
    _, columns = cache(("columns", id(items)), lambda: (items, item_columns(items, mask)))
    return VectorRanker(scorer, columns)


def by_mix(
    mixes: Float32s, answer: Callable[[Codes, Float32s], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """Ask once for each mix there is, and put the answers to their rows.

    Parameters
    ----------
    mixes : float32 array, n × K
        A mix for each row.
    answer : callable
        Takes positions of rows and their mix, and returns arrays with a row for each.

    Examples
    --------
    >>> mixes = np.float32([[1, 0], [0, 2], [1, 0]])
    >>> by_mix(mixes, lambda rows, mix: (10 * rows + mix.argmax(),))
    (array([ 0, 11, 20]),)
    """
    kinds, kind_of = distinct_mixes(mixes)
    if len(kinds) == 1:
        return tuple(answer(np.arange(len(mixes)), kinds[0]))
    rows = [np.flatnonzero(kind_of == number) for number in range(len(kinds))]
    parts = [answer(own, kind) for own, kind in zip(rows, kinds, strict=True)]
    order = np.argsort(np.concatenate(rows))
    return tuple(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True))


def distinct_mixes(mixes: Float32s) -> tuple[list[Float32s], Codes]:
    """Return the mixes that there are, and which of them each row has.

    Examples
    --------
    >>> kinds, kind_of = distinct_mixes(np.float32([[1, 0], [0, 2], [1, 0]]))
    >>> [kind.tolist() for kind in kinds], kind_of.tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [0, 1, 0])
    """
    number_of: dict[bytes, int] = {}
    # For a few mixes many times as fast as np.unique.
    kind_of = [number_of.setdefault(mix.tobytes(), len(number_of)) for mix in mixes]
    kinds = [np.frombuffer(kind, dtype=mixes.dtype) for kind in number_of]
    return kinds, np.array(kind_of, dtype=np.int64)


def _blocks(users: int, lists: ItemLists, n_items: int) -> Iterator[tuple[slice, ItemLists]]:
    at_once = users_at_once(n_items)
    for start in range(0, users, at_once):
        stop = min(start + at_once, users)
        yield slice(start, stop), lists.of(start, stop)
