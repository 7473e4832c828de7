"""Most of the n best items without scoring all: items in clusters, of which few are looked at.

A user looks into the clusters whose centres score highest; what is in them is scored exactly, by
the same kernels as everything else. A cluster is read in one piece, once for many users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.compiled.ranges import for_ranges
from dmrank.ranking.items import allowed_mask
from dmrank.ranking.lists import item_lists
from dmrank.ranking.partition import Partition
from dmrank.ranking.scoring import ITEMS_PER_CHUNK, checked_users, dot, score_chunk
from dmrank.ranking.top_n import TopN, any_above, no_items, offer, sort_heap
from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# So many clusters of each user are looked into at once.
_FIRST = 4
# Enough for a cluster to be asked for by several.
_USERS_PER_TASK = 256
# Steps between the lowest and the highest score of a centre.
_BINS = 512


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
        How many clusters to look into; with all of them the result is exact, but for the order of
        equal scores.

    Examples
    --------
    >>> from dmrank.ranking.partition import make_partition
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
    probes = min(probes, clusters)
    if probes:
        for_ranges(
            lambda start, stop: _search(start, stop, users, partition, mask, seen, probes, best),
            len(users),
            _USERS_PER_TASK,
            threads,
        )
    return best


@cached
def _search(
    start: int,
    stop: int,
    user_vectors: Any,
    partition: Any,
    allowed: Any,
    seen: Any,
    probes: int,
    best: Any,
) -> None:
    """Look into the best clusters of each user first, and then into the others cluster by cluster.

    What the first ones hold rules out many others, and a cluster that was read serves all users.
    """
    clusters = partition.centres.shape[1]
    centre_scores = np.empty(clusters, np.float32)
    probed = np.empty(probes, np.int32)
    bins = np.empty(_BINS, np.int64)
    buffer = np.empty(ITEMS_PER_CHUNK, np.float32)
    sizes = np.zeros(stop - start, np.int64)
    # For each cluster, who looks into it: a list that ends with −1.
    first_of = np.full(clusters, -1, np.int32)
    waiting = max(probes - _FIRST, 0) * (stop - start)
    next_of, user_of = np.empty(waiting, np.int32), np.empty(waiting, np.int32)
    bound_of = np.empty(waiting, np.float32)
    count = 0
    for u in range(start, stop):
        user = user_vectors[u]
        for first in range(0, clusters, ITEMS_PER_CHUNK):
            last = min(first + ITEMS_PER_CHUNK, clusters)
            score_chunk(user, partition.centres, first, centre_scores[first:last])
        _highest(centre_scores, probed, bins)
        length = np.sqrt(dot(user, user))
        for number in range(probes):
            cluster = probed[number]
            if number < _FIRST:
                sizes[u - start] = _look_into(
                    cluster, u, user, partition, allowed, seen, buffer, best, sizes[u - start]
                )
                continue
            # No item of the cluster scores higher than this (Cauchy and Schwarz).
            bound = centre_scores[cluster] + length * partition.reach[cluster]
            if bound >= _threshold(u, sizes[u - start], best):
                user_of[count], bound_of[count] = u, bound
                next_of[count], first_of[cluster] = first_of[cluster], count
                count += 1
    for cluster in range(clusters):
        at = first_of[cluster]
        while at >= 0:
            u = user_of[at]
            if bound_of[at] >= _threshold(u, sizes[u - start], best):
                sizes[u - start] = _look_into(
                    cluster,
                    u,
                    user_vectors[u],
                    partition,
                    allowed,
                    seen,
                    buffer,
                    best,
                    sizes[u - start],
                )
            at = next_of[at]
    for u in range(start, stop):
        sort_heap(best.items[u], best.scores[u], sizes[u - start])


@cached
def _threshold(u: int, size: int, best: Any) -> Any:
    """Return the score that an item has to reach to be listed."""
    return best.scores[u, 0] if size == best.scores.shape[1] else np.float32(-np.inf)


@cached
def _look_into(
    cluster: int,
    u: int,
    user: Any,
    partition: Any,
    allowed: Any,
    seen: Any,
    buffer: Any,
    best: Any,
    size: int,
) -> int:
    """Put the best items of a cluster into a user's heap; return its size."""
    factors = len(user)
    start, stop = partition.pointer[cluster], partition.pointer[cluster + 1]
    length = stop - start
    block = partition.blocks[start * factors : stop * factors].reshape((factors, length))
    for first in range(0, length, ITEMS_PER_CHUNK):
        last = min(first + ITEMS_PER_CHUNK, length)
        scores = buffer[: last - first]
        score_chunk(user, block, first, scores)
        if not any_above(scores, _threshold(u, size, best)):
            continue
        size, _ = offer(
            scores,
            partition.codes[start + first : start + last],
            allowed[start + first : start + last],
            seen.items[: seen.pointer[u + 1]],
            seen.pointer[u],
            best.items[u],
            best.scores[u],
            size,
        )
    return size


@cached
def _highest(scores: Any, chosen: Any, bins: Any) -> None:
    """Choose the highest scores, nearly in order: those that share a bin keep their place."""
    low, high = scores.min(), scores.max()
    scale = np.float32(_BINS - 1) / (high - low) if high > low else np.float32(0)
    bins[:] = 0
    for score in scores:
        bins[int((score - low) * scale)] += 1
    # The first place of each bin, from the highest to the one that fills up the list.
    last, place = _BINS, 0
    while place < len(chosen):
        last -= 1
        count = bins[last]
        bins[last] = place
        place += count
    for number in range(len(scores)):
        own = int((scores[number] - low) * scale)
        if own >= last:
            if bins[own] < len(chosen):
                chosen[bins[own]] = number
            bins[own] += 1
