"""Users to whom a model gives the same score for every item: their lists are in no order."""

from __future__ import annotations

import numpy as np

from dmrank.fitted.scorers import Scorer, make_ranker
from dmrank.ranking import lists_of
from dmrank.support.arrays import Int64s
from dmrank.training.held_out import HeldOut


def count_equal_scores(
    held_out: HeldOut,
    ranks: Int64s,
    candidates: Int64s,
    scorer: Scorer,
    threads: int | None = None,
) -> int:
    """Count the held-out users whose candidates all have the same score.

    As ties count against a model, a held-out item is the last of their candidates, and the first
    one scores no higher.

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
    threads : int, optional
        Number of threads; by default every core.
    """
    asked = np.flatnonzero(ranks > 0)
    row_user = np.repeat(np.arange(len(held_out.users)), np.diff(held_out.items.pointer))[asked]
    # Of several rows, the last that is assigned stays: that of the highest rank.
    order = np.argsort(ranks[asked], kind="stable")
    worst = np.full(len(held_out.users), -1)
    worst[row_user[order]] = asked[order]
    which = np.flatnonzero((worst >= 0) & (candidates > 1))
    which = which[ranks[worst[which]] == candidates[which]]
    if len(which) == 0:
        return 0
    users, last = held_out.users[which], held_out.items.items[worst[which]]
    ranker = make_ranker(scorer, held_out.candidates)
    first = ranker.top_n(users, 1, lists_of(*held_out.excluded, which), None, threads).items[:, 0]
    return int((scorer.of_pairs(users, first) == scorer.of_pairs(users, last)).sum())
