"""Scores on one scale: each user's scores of a model, as deviations from their mean.

What several models say of an item can be added up only when each says it in the same unit. Of the
scores s_ui of one user, m and σ are mean and deviation over the items that count, and

    z_ui = (s_ui − m) / σ ,   squashed(z) = z / √(1 + z²/9)

where the second goes no further than ±3: a model that is very sure of an item may be listened to
less than in proportion. A score that is the same for all items says nothing: z = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.compiling import cached, compiled
from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Codes, Float32s

_USERS_PER_TASK = 8
#: Sums that are taken side by side, and added in this order on every machine: one alone would wait
#: for each of its additions.
_LANES = 64
#: A deviation below so much of the largest score is rounding.
_ROUNDING = 1e-6


class Share(NamedTuple):
    """How standardised scores of some users count.

    Attributes
    ----------
    of_score : float32 array, one per user
        Weight of z.
    of_squashed : float32
        Weight of squashed z.
    """

    of_score: Float32s
    of_squashed: np.float32


def add_standardised(
    total: Float32s, scores: Float32s, items: Codes, share: Share, threads: int | None = None
) -> None:
    """Add weighted z and squashed z of a block of scores, users × items, to a total.

    Parameters
    ----------
    total : float32 array, users × items
        Changed in place.
    scores : float32 array, users × items
        The scores of one model.
    items : int array
        The items over which mean and deviation are taken.
    share : Share
        What z and squashed z count.
    threads : int, optional
        Number of threads; by default every core.

    Examples
    --------
    >>> total = np.zeros((1, 3), dtype=np.float32)
    >>> scores = np.float32([[1, 2, 3]])
    >>> add_standardised(total, scores, np.arange(3), Share(np.float32([1]), np.float32(0)))
    >>> total.round(2)
    array([[-1.22,  0.  ,  1.22]], dtype=float32)
    """
    places = np.ascontiguousarray(items, dtype=np.int64)
    for_ranges(
        lambda start, stop: _add_range(start, stop, total, scores, places, share),
        len(scores),
        _USERS_PER_TASK,
        threads,
    )


@cached
def _add_range(
    start: int, stop: int, total: Float32s, scores: Float32s, items: Codes, share: Share
) -> None:
    counted = np.empty(len(items), np.float32)
    for n in range(start, stop):
        own, sums = scores[n], total[n]
        for place in range(len(items)):
            counted[place] = own[items[place]]
        mean, scale = _centre_and_scale(counted)
        weight, bent = share.of_score[n], share.of_squashed
        for i in range(len(own)):
            z = (own[i] - mean) * scale
            # A value that is far outside the items that count must not overflow its square.
            far = min(max(z, np.float32(-1e6)), np.float32(1e6))
            squashed = far / np.sqrt(np.float32(1) + far * far / np.float32(9))
            sums[i] += weight * z + bent * squashed


@compiled
def _centre_and_scale(scores: Float32s) -> tuple[np.float32, np.float32]:
    """Return m and 1/σ, or 0 for the second if all scores are the same."""
    count = max(len(scores), 1)
    sums, largest = np.zeros(_LANES), np.zeros(_LANES, np.float32)
    whole = len(scores) - len(scores) % _LANES
    for first in range(0, whole, _LANES):
        values = scores[first : first + _LANES]
        for lane in range(_LANES):
            sums[lane] += values[lane]
            size = abs(values[lane])
            largest[lane] = max(largest[lane], size)
    for place in range(whole, len(scores)):
        sums[place - whole] += scores[place]
        largest[0] = max(largest[0], abs(scores[place]))
    mean = sums.sum() / count
    sums[:] = 0
    for first in range(0, whole, _LANES):
        values = scores[first : first + _LANES]
        for lane in range(_LANES):
            left = values[lane] - mean
            sums[lane] += left * left
    for place in range(whole, len(scores)):
        left = scores[place] - mean
        sums[place - whole] += left * left
    deviation = np.sqrt(sums.sum() / count)
    scale = 0.0 if deviation <= _ROUNDING * largest.max() else 1.0 / deviation
    return np.float32(mean), np.float32(scale)
