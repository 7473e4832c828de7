"""How much preference a list bears: held-out NDCG along the way from exposure to preference."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dmrank.metrics.base import Metric
from dmrank.ranking import ranks_of_items_scores
from dmrank.ranking.scoring import users_at_once
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.training.held_out import HeldOut

#: Where the curve is looked at.
SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: A list that keeps so much of the best value is as good, and says more about the aspect.
_KEPT = 0.99

#: Standardised exposure of some users and all items.
ExposureOf = Callable[[Codes], Float32s]
#: Standardised preference of some users by one aspect, by its column.
PreferenceOf = Callable[[Codes, int], Float32s]


class Curve(NamedTuple):
    """The held-out value of lists, the mean over aspects, by their share of preference."""

    shares: Floats
    values: Floats

    def largest_share(self) -> float:
        """Return the largest share whose value is at least 99 % of the best.

        Examples
        --------
        >>> Curve(np.array([0, 0.1, 0.2, 1]), np.array([0.1, 0.101, 0.1001, 0.02])).largest_share()
        0.2
        """
        good = np.flatnonzero(self.values >= _KEPT * self.values.max())
        return float(self.shares[good[-1]])


def preference_curve(
    held_out: HeldOut,
    aspects: tuple[str, ...],
    metric: Metric,
    exposure: ExposureOf,
    preference: PreferenceOf,
    threads: int | None,
) -> Curve:
    """Judge lists by every aspect, with every share of preference.

    Parameters
    ----------
    held_out : HeldOut
        Held-out ratings of the users that are looked at.
    aspects : tuple of str
        The aspects of the model, by their columns.
    metric : Metric
        What is averaged over users, then over aspects.
    exposure, preference : callables
        The two halves of a list score.
    threads : int or None
        Number of threads.
    """
    totals = np.zeros((len(SHARES), len(held_out.aspects)))
    counts = np.zeros((len(SHARES), len(held_out.aspects)))
    at_once = users_at_once(len(held_out.candidates))
    for start in range(0, len(held_out.users), at_once):
        kept = np.zeros(len(held_out.users), dtype=np.bool_)
        kept[start : start + at_once] = True
        some = held_out.select(kept, np.ones(len(held_out.values), dtype=np.bool_))
        who_comes, propensities = exposure(some.users), some.propensities
        for k, name in enumerate(held_out.aspects):
            query = some.query(name)
            gains = np.nan_to_num(query.gains)
            how_liked = preference(some.users, aspects.index(name))
            for n, share in enumerate(SHARES):
                t = np.float32(share)
                ranks = ranks_of_items_scores(
                    (1 - t) * who_comes + t * how_liked,
                    *query.items,
                    query.gains,
                    *query.excluded,
                    query.candidates,
                    threads=threads,
                )
                values = metric(ranks, gains, query.items.pointer, propensities=propensities)
                totals[n, k] += np.nansum(values)
                counts[n, k] += (~np.isnan(values)).sum()
    rated = counts[0] > 0
    means = totals[:, rated] / counts[:, rated]
    return Curve(np.array(SHARES), means.mean(axis=1))
