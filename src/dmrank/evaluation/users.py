"""The metrics of users: how high their held-out items come, by one aspect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dmrank.evaluation.equal_scores import count_equal_scores
from dmrank.evaluation.protocols import Ranking
from dmrank.fitted.scorers import Scorer
from dmrank.metrics import Metric
from dmrank.support.arrays import Floats
from dmrank.training.held_out import HeldOut


class UserValues(NamedTuple):
    """What metrics say of each user by one aspect.

    Attributes
    ----------
    values : dict of str to float array
        By metric, a value per user, NaN for a user without a held-out item on the aspect.
    equal : int
        To how many of the users the model gives the same score for every item.
    """

    values: dict[str, Floats]
    equal: int


def judge_users(
    scorer: Scorer,
    held_out: HeldOut,
    ranking: Ranking,
    aspect: str,
    metrics: Sequence[Metric],
    threads: int | None = None,
) -> UserValues:
    """Measure how high the held-out items of users come; no user's values depend on another."""
    ranks = ranking.ranks(aspect, scorer, threads)
    gains = np.nan_to_num(held_out.query(aspect).gains)
    values = {
        str(metric): metric(
            ranks, gains, held_out.items.pointer, propensities=held_out.propensities
        )
        for metric in metrics
    }
    candidates = ranking.candidates(aspect)
    return UserValues(values, count_equal_scores(held_out, ranks, candidates, scorer, threads))
