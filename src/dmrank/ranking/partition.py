"""Most of the n best items without scoring all: items in clusters, of which few are looked at.

Item vectors are put into clusters by k-means. A user looks into the clusters whose centres score
highest; what is in them is scored exactly, by the same kernels as everything else. For vectors of
few factors this is faster than walking a graph of neighbours: a cluster is read in one piece.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from dmrank.errors import ConfigError
from dmrank.parallel import for_ranges
from dmrank.ranking.items import allowed_mask
from dmrank.ranking.lists import item_lists
from dmrank.ranking.scoring import (
    ITEMS_PER_CHUNK,
    USERS_PER_TASK,
    as_matrix,
    checked_users,
    largest,
    score_chunk,
)
from dmrank.ranking.top_n import TopN, no_items, offer, sort_heap, top_n

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# So many clusters times the root of the number of items: centres cost as much as what is found.
_CLUSTERS_PER_ROOT = 4
# The centres are learned from so many items for each, in so many rounds.
_ITEMS_PER_CENTRE = 64
_ROUNDS = 8


class Partition(NamedTuple):
    """Items in clusters, laid out cluster by cluster.

    Attributes
    ----------
    centres
        Of shape (factors, clusters).
    pointer
        The items of cluster c are at the places ``pointer[c]:pointer[c + 1]``.
    codes
        Codes of the items, ascending within a cluster.
    blocks
        Their vectors, flat: cluster after cluster, in each one factor after the other.
    n_items
        Number of all items, also those that take no part.
    largest
        The largest absolute value in any vector.
    """

    centres: NDArray[np.float32]
    pointer: NDArray[np.int64]
    codes: NDArray[np.int32]
    blocks: NDArray[np.float32]
    n_items: int
    largest: float

    def vector(self, place: int) -> NDArray[np.float32]:
        """Return the vector of the item at a place."""
        cluster = int(np.searchsorted(self.pointer, place, side="right")) - 1
        start, stop = self.pointer[cluster], self.pointer[cluster + 1]
        factors = len(self.centres)
        block = self.blocks[start * factors : stop * factors].reshape(factors, stop - start)
        return block[:, place - start]


def make_partition(
    item_vectors: ArrayLike,
    taking_part: ArrayLike | None = None,
    clusters: int | None = None,
    threads: int | None = None,
) -> Partition:
    """Put items into clusters, the same ones every time.

    Parameters
    ----------
    item_vectors
        One row per item.
    taking_part
        True for the items that can be found; by default all.
    clusters
        How many; by default four times the root of the number of items.
    threads
        Number of threads; by default one per core.

    Examples
    --------
    >>> partition = make_partition([[0.0, 1.0], [5.0, 5.0], [0.1, 1.0]], clusters=2)
    >>> sorted(len(part) for part in np.split(partition.codes, partition.pointer[1:-1]))
    [1, 2]
    """
    vectors = as_matrix(item_vectors)
    n_items = len(vectors)
    codes = np.arange(n_items, dtype=np.int32)
    if taking_part is not None:
        codes = codes[allowed_mask(taking_part, n_items)]
    rows = np.ascontiguousarray(vectors[codes])
    if clusters is None:
        clusters = int(np.ceil(_CLUSTERS_PER_ROOT * np.sqrt(max(len(rows), 1))))
    if clusters < 1:
        raise ConfigError(f"clusters={clusters!r}: give 1 or more")
    centres = _learned_centres(rows, clusters, threads)
    cluster = _nearest(rows, centres, threads)
    # A stable sort keeps the codes of a cluster ascending.
    order = np.argsort(cluster, kind="stable")
    pointer = np.searchsorted(cluster[order], np.arange(len(centres) + 1)).astype(np.int64)
    blocks = np.empty(rows.size, dtype=np.float32)
    factors = rows.shape[1]
    for start, stop in pairwise(pointer):
        blocks[start * factors : stop * factors] = rows[order[start:stop]].T.ravel()
    columns = np.ascontiguousarray(centres.T)
    return Partition(columns, pointer, codes[order], blocks, n_items, largest(rows))


def _learned_centres(
    rows: NDArray[np.float32], clusters: int, threads: int | None
) -> NDArray[np.float32]:
    """Return the centres of k-means on a sample."""
    rng = np.random.default_rng(0)
    size = min(len(rows), clusters * _ITEMS_PER_CENTRE)
    sample = rows[np.sort(rng.choice(len(rows), size=size, replace=False))]
    centres = sample[rng.choice(size, size=min(clusters, size), replace=False)].copy()
    for _ in range(_ROUNDS):
        cluster = _nearest(sample, centres, threads)
        counts = np.bincount(cluster, minlength=len(centres))
        filled = counts > 0
        for factor, column in enumerate(sample.T):
            sums = np.bincount(cluster, column, minlength=len(centres))
            centres[filled, factor] = sums[filled] / counts[filled]
    return centres


def _nearest(
    rows: NDArray[np.float32], centres: NDArray[np.float32], threads: int | None
) -> NDArray[np.int32]:
    """Return the nearest centre of each row: the largest x·c − ½|c|²."""
    if len(rows) == 0:
        return np.empty(0, dtype=np.int32)
    points = np.column_stack([rows, np.ones(len(rows), dtype=np.float32)])
    lifted = np.column_stack([centres, -0.5 * np.square(centres).sum(axis=1)])
    return top_n(points, lifted, 1, np.zeros(len(rows) + 1), [], threads=threads).items[:, 0]


def top_n_of_clusters(
    user_vectors: ArrayLike,
    partition: Partition,
    probes: int,
    n: int,
    seen_ptr: ArrayLike,
    seen_items: ArrayLike,
    allowed: ArrayLike | None = None,
    threads: int | None = None,
) -> TopN:
    """Return the n best items that are in the clusters whose centres score highest.

    Parameters
    ----------
    user_vectors, n, seen_ptr, seen_items, allowed, threads
        As for `top_n`.
    partition
        The items in clusters.
    probes
        How many clusters to look into; with all of them the result is exact.

    Examples
    --------
    >>> partition = make_partition([[0.0, 1.0], [5.0, 5.0], [0.1, 1.0]], clusters=2)
    >>> top_n_of_clusters([[1.0, 1.0]], partition, 1, 2, seen_ptr=[0, 0], seen_items=[]).items
    array([[ 1, -1]], dtype=int32)
    """
    if probes < 1:
        raise ConfigError(f"probes={probes!r}: look into at least one cluster")
    factors, clusters = partition.centres.shape
    # Centres are means of vectors, and so no larger.
    users = checked_users(user_vectors, factors, partition.largest)
    seen = item_lists("seen", seen_ptr, seen_items, len(users), partition.n_items)
    codes = partition.codes
    mask = np.ones(len(codes), np.bool_)
    if allowed is not None:
        mask = allowed_mask(allowed, partition.n_items)[codes]
    best = no_items(len(users), n)
    for_ranges(
        lambda start, stop: _search(
            start,
            stop,
            users,
            partition.centres,
            partition.pointer,
            partition.blocks,
            codes,
            mask,
            *seen,
            min(probes, clusters),
            *best,
        ),
        len(users),
        USERS_PER_TASK,
        threads,
    )
    return best


@njit(cache=True, nogil=True)
def _search(
    start: int,
    stop: int,
    user_vectors: Any,
    centres: Any,
    pointer: Any,
    blocks: Any,
    codes: Any,
    allowed: Any,
    seen_ptr: Any,
    seen_items: Any,
    probes: int,
    best_items: Any,
    best_scores: Any,
) -> None:
    factors, clusters = centres.shape
    numbers = np.arange(clusters).astype(np.int32)
    every = np.ones(clusters, np.bool_)
    buffer = np.empty(ITEMS_PER_CHUNK, np.float32)
    probed = np.empty(probes, np.int32)
    probed_scores = np.empty(probes, np.float32)
    for u in range(start, stop):
        user = user_vectors[u]
        probed_scores[:] = -np.inf
        count = 0
        for first in range(0, clusters, ITEMS_PER_CHUNK):
            last = min(first + ITEMS_PER_CHUNK, clusters)
            scores = buffer[: last - first]
            score_chunk(user, centres, first, scores)
            count, _ = offer(
                scores,
                numbers[first:last],
                every[first:last],
                seen_items[:0],
                0,
                probed,
                probed_scores,
                count,
            )
        sort_heap(probed, probed_scores, count)
        seen = seen_items[: seen_ptr[u + 1]]
        size = 0
        for probe in range(count):
            a, b = pointer[probed[probe]], pointer[probed[probe] + 1]
            block = blocks[a * factors : b * factors].reshape((factors, b - a))
            for first in range(0, b - a, ITEMS_PER_CHUNK):
                last = min(first + ITEMS_PER_CHUNK, b - a)
                scores = buffer[: last - first]
                score_chunk(user, block, first, scores)
                own = seen_ptr[u] + np.searchsorted(seen[seen_ptr[u] :], codes[a + first])
                size, _ = offer(
                    scores,
                    codes[a + first : a + last],
                    allowed[a + first : a + last],
                    seen,
                    own,
                    best_items[u],
                    best_scores[u],
                    size,
                )
        sort_heap(best_items[u], best_scores[u], size)
