"""Items in clusters, for a search that looks into few of them: k-means on their vectors.

An index of a million items is built once, in 17 s; faiss's k-means took 2 to 7 s, which is not
worth a dependency of its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.ranking.layout import as_matrix, item_mask, largest
from dmrank.ranking.top_n import top_n
from dmrank.support import layouts
from dmrank.support.arrays import Float32s, Int32s, Int64s
from dmrank.support.errors import ConfigError
from dmrank.support.layouts import Kept, Shapes, floats, length_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# So many clusters times the root of the number of items: centres cost as much as what is found.
_CLUSTERS_PER_ROOT = 3
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
    reach
        The largest distance of an item of each cluster from its centre.
    n_items
        Number of all items, also those that take no part.
    largest
        The largest absolute value in any vector.
    """

    centres: Float32s
    pointer: Int64s
    codes: Int32s
    blocks: Float32s
    reach: Float32s
    n_items: int
    largest: float

    @staticmethod
    def layout(shapes: Shapes, n_items: int, largest: float) -> dict[str, Kept]:
        """Return what the arrays of a file must be."""
        factors, found = length_of(shapes, "centres"), length_of(shapes, "codes")
        clusters = length_of(shapes, "reach")
        # Centres are means of vectors, and so no larger, but for rounding.
        around = 1.001 * largest
        return {
            "centres": floats(factors, clusters, low=-around, high=around),
            "pointer": layouts.pointer(clusters, found),
            "codes": layouts.codes(found, n_items, pointer="pointer"),
            "blocks": floats(factors * found, low=-largest, high=largest),
            "reach": floats(clusters, low=0),
        }

    def vector(self, place: int) -> Float32s:
        """Return the vector of the item at a place."""
        cluster = int(np.searchsorted(self.pointer, place, side="right")) - 1
        start, stop = self.pointer[cluster], self.pointer[cluster + 1]
        factors = len(self.centres)
        block = self.blocks[start * factors : stop * factors].reshape(factors, stop - start)
        return block[:, place - start]


def make_partition(
    item_vectors: ArrayLike,
    mask: ArrayLike | None = None,
    clusters: int | None = None,
    threads: int | None = None,
) -> Partition:
    """Put items into clusters, the same ones every time.

    Parameters
    ----------
    item_vectors
        One row per item.
    mask
        True for the items that can be found; by default all.
    clusters
        How many; by default three times the root of the number of items.
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
    if mask is not None:
        codes = codes[item_mask("mask", mask, n_items)]
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
    reach = _reach(rows, centres, cluster)
    return Partition(columns, pointer, codes[order], blocks, reach, n_items, largest(rows))


def _reach(rows: Float32s, centres: Float32s, cluster: Int32s) -> Float32s:
    reach = np.zeros(len(centres), dtype=np.float32)
    np.maximum.at(reach, cluster, np.linalg.norm(rows - centres[cluster], axis=1))
    # A little more, so that rounding never makes a bound too low.
    return reach * np.float32(1.001)


def _learned_centres(rows: Float32s, clusters: int, threads: int | None) -> Float32s:
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


def _nearest(rows: Float32s, centres: Float32s, threads: int | None) -> Int32s:
    """Return the nearest centre of each row: the largest x·c − ½|c|²."""
    if len(rows) == 0:
        return np.empty(0, dtype=np.int32)
    points = np.column_stack([rows, np.ones(len(rows), dtype=np.float32)])
    lifted = np.column_stack([centres, -0.5 * np.square(centres).sum(axis=1)])
    return top_n(points, lifted, 1, np.zeros(len(rows) + 1), [], threads=threads).items[:, 0]
