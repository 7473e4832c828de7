"""Whether one model is better than others: paired t-tests over users, corrected by Holm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

PerUser = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """The best model against another one.

    Attributes
    ----------
    best, other : str
        Names of the models.
    difference : float
        Mean over users of best − other, over those that both have a value for.
    improvement : float
        The difference relative to the mean of the other.
    p : float
        Of a paired t-test, corrected by Holm for all comparisons with the best.
    """

    best: str
    other: str
    difference: float
    improvement: float
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether p < 0.05, the star of the paper's Table 2."""
        return self.p < 0.05


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values for their number (Holm, 1979): the family-wise error stays below the level.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    result = np.empty_like(corrected)
    result[order] = corrected
    return result


def compare_with_best(values: Mapping[str, PerUser]) -> list[Comparison]:
    """Compare the model with the highest mean with each other one, the best of them first.

    Parameters
    ----------
    values : mapping of str to float array
        A value per user for each model, NaN where there is none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users = rng.random(200)
    >>> one, two = compare_with_best({"a": users, "b": users + 0.1 * rng.random(200), "c": users})
    >>> one.best, one.other, one.is_significant
    ('b', 'a', True)
    """
    means = {name: float(np.nanmean(of_users)) for name, of_users in values.items()}
    best, *others = sorted(means, key=lambda name: -means[name])
    p_values = holm(np.array([_paired_p(values[best], values[other]) for other in others]))
    return [
        Comparison(
            best,
            other,
            float(np.nanmean(values[best] - values[other])),
            (means[best] - means[other]) / means[other] if means[other] else float("inf"),
            float(p),
        )
        for other, p in zip(others, p_values, strict=True)
    ]


def _paired_p(one: PerUser, other: PerUser) -> float:
    difference = one - other
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2 or not difference.any():
        return 1.0
    spread = difference.std(ddof=1)
    if spread == 0:
        return 0.0
    t = difference.mean() / (spread / np.sqrt(len(difference)))
    return float(2 * stats.t.sf(abs(t), len(difference) - 1))
