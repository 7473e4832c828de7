"""Users to whom a model gives the same score for every item: their lists are in no order."""

from __future__ import annotations

import numpy as np

from dmrank.fitted.scorers import Scorer
from dmrank.support.arrays import Codes, Int32s, Int64s
from dmrank.training.held_out import HeldOut

#: So many candidates are looked at before all are.
_FEW = 32


def count_equal_scores(held_out: HeldOut, ranks: Int64s, candidates: Int64s, scorer: Scorer) -> int:
    """Count the held-out users whose candidates all have the same score.

    As ties count against a model, their held-out items are the last of their candidates: only such
    users are looked at.

    Parameters
    ----------
    held_out : HeldOut
        The users, and what they rated.
    ranks : int array
        Rank of each held-out item, 0 for one that takes no part.
    candidates : int array
        How many items were ranked for each user.
    scorer : Scorer
        What they were ranked by.
    """
    asked = ranks > 0
    row_user = np.repeat(np.arange(len(held_out.users)), np.diff(held_out.items.pointer))[asked]
    items = np.bincount(row_user, minlength=len(held_out.users))
    first = np.full(len(items), np.iinfo(np.int64).max)
    np.minimum.at(first, row_user, ranks[asked])
    last = np.flatnonzero((items > 0) & (first == candidates - items + 1))
    return sum(_is_equal(held_out, int(n), scorer) for n in last)


def _is_equal(held_out: HeldOut, n: int, scorer: Scorer) -> bool:
    """Return whether all candidates of the n-th user have one score."""
    free = held_out.candidates.copy()
    free[held_out.excluded.of(n, n + 1).items] = False
    items = np.flatnonzero(free).astype(np.int32)
    few = items[:: max(len(items) // _FEW, 1)]
    user = held_out.users[n : n + 1]
    return _one_score(scorer, user, few) and _one_score(scorer, user, items)


def _one_score(scorer: Scorer, user: Codes, items: Int32s) -> bool:
    scores = scorer.of_pairs(np.repeat(user, len(items)), items)
    return len(items) > 1 and bool((scores == scores[0]).all())
