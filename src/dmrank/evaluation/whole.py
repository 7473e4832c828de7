"""Metrics of a model as a whole, with their intervals over users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dmrank.data.ratings import Split
from dmrank.evaluation.lift import lift
from dmrank.evaluation.order_pairs import rated_pairs
from dmrank.evaluation.significance import bootstrap_interval
from dmrank.fitted.contract import FittedModel
from dmrank.metrics import Contrast, ListLift, WholeMetric
from dmrank.support.arrays import Floats


class Estimate(NamedTuple):
    """A mean over users with its 95 % bootstrap interval, and how many users it is over."""

    mean: float
    low: float
    high: float
    users: int


def whole_values(
    metrics: Sequence[WholeMetric], model: FittedModel, split: Split, threads: int | None = None
) -> dict[str, Estimate]:
    """Measure a fitted model on the test part of a split, by name of the metric."""
    found: dict[str, Estimate] = {}
    contrasts = [metric for metric in metrics if isinstance(metric, Contrast)]
    if contrasts:
        pairs = rated_pairs(split)
        for contrast in contrasts:
            per_user = pairs.contrast(model, calibrated=contrast.calibrated).per_user
            found[str(contrast)] = _estimate(per_user)
    lists = [metric for metric in metrics if isinstance(metric, ListLift)]
    for length in sorted({metric.k for metric in lists}):
        measured = lift(model, split, n=length, threads=threads)
        for metric in lists:
            if metric.k == length:
                per_user = measured.mean_per_user(specific=metric.specific)
                found[str(metric)] = _estimate(per_user)
    return found


def _estimate(per_user: Floats) -> Estimate:
    known = per_user[~np.isnan(per_user)]
    mean = float(known.mean()) if len(known) else float("nan")
    return Estimate(mean, *bootstrap_interval(per_user), len(known))
