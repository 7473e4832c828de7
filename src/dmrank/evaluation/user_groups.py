"""Users by the number of their training ratings, and how well each group is served (Figure 3)."""

from __future__ import annotations

import numpy as np
import polars as pl

from dmrank.data.activity import GROUP_LABELS, activity_groups
from dmrank.data.ratings import Ratings
from dmrank.evaluation.report import AVERAGE, Report
from dmrank.evaluation.significance import bootstrap_interval
from dmrank.support.arrays import Floats


def group_sizes(train: Ratings) -> pl.DataFrame:
    """Return how many users each group has, and their share of all users with a training row.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> group_sizes(make_ratings(50, 20, 500, seed=1).ratings)["users"].to_list()
    [14, 16, 8, 12, 0]
    """
    counts = np.diff(train.user_pointer)
    users = [int(members.sum()) for _, members in activity_groups(counts)]
    total = max(sum(users), 1)
    return pl.DataFrame(
        {"group": GROUP_LABELS, "users": users, "share": [size / total for size in users]}
    )


def user_groups(report: Report, train: Ratings, metric: str, by: str = AVERAGE) -> pl.DataFrame:
    """Return the mean of a metric per model and group of users.

    Parameters
    ----------
    report : Report
        Values of the test users.
    train : Ratings
        The training ratings, which put a user into a group.
    metric : str
        A metric of the report that has a value per user.
    by : str
        An aspect, or `"average"`: the mean over aspects of the group's mean.

    Returns
    -------
    polars.DataFrame
        Columns model, group, users (those with a value), mean, and its 95 % bootstrap interval low
        and high; all three are NaN without users.

    Examples
    --------
    >>> from dmrank import Popularity, evaluate, make_ratings
    >>> split = make_ratings(50, 20, 500, seed=1).ratings.split()
    >>> report = evaluate(Popularity().fit(split.train), split, metrics=["ndcg@50"])
    >>> user_groups(report, split.train, "ndcg@50")["users"].to_list()
    [12, 9, 15, 0, 0]
    """
    counts = np.diff(train.user_pointer)[train.users.codes(report.users)]
    aspects = report.aspects if by == AVERAGE else (by,)
    rows = []
    for model in report.models:
        values = np.array([report.per_user(model, metric, aspect) for aspect in aspects])
        for label, members in activity_groups(counts):
            of_group = values[:, members]
            has_value = ~np.isnan(of_group).all(axis=0)
            mean = _known_mean(np.array([_known_mean(of_users) for of_users in of_group]))
            low, high = _interval(of_group[:, has_value])
            rows.append({
                "model": model, "group": label, "users": int(has_value.sum()), "mean": mean,
                "low": low, "high": high,
            })  # fmt: skip
    return pl.DataFrame(rows)


def _interval(values: Floats) -> tuple[float, float]:
    """Return the interval of the mean over users, of each the mean over aspects."""
    if values.size == 0:
        return float("nan"), float("nan")
    return bootstrap_interval(np.nanmean(values, axis=0))


def _known_mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
