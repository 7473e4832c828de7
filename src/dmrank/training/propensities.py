"""How likely items are to be met, by how often they were rated."""

from __future__ import annotations

import numpy as np

from dmrank.support.arrays import Codes, Floats


def popularity_propensities(item_counts: Codes) -> Floats:
    """Return (n_i / largest n)^½ of items with n_i ratings.

    The exponent is that of Yang et al., Unbiased Offline Recommender Evaluation for
    Missing-Not-At-Random Implicit Feedback, RecSys 2018: part of why an item is rated more often
    is that it is liked.

    Examples
    --------
    >>> popularity_propensities(np.array([4, 1, 0]))
    array([1. , 0.5, 0. ])
    """
    propensities: Floats = np.sqrt(item_counts / item_counts.max())
    return propensities
