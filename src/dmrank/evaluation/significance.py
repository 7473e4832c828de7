"""Whether one model is better than others: paired t-tests over users, corrected by Holm."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError
from dmrank.support.seeds import make_rng

#: Users that are drawn at once: 4 million draws take 48 MB.
_MOST_DRAWS = 4_000_000


@dataclass(frozen=True)
class PairedTest:
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


# SciPy has only corrections of the false discovery rate.
def holm(p_values: Floats) -> Floats:
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


def compare_with_best(values: Mapping[str, Floats]) -> list[PairedTest]:
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
        PairedTest(
            best,
            other,
            float(np.nanmean(values[best] - values[other])),
            (means[best] - means[other]) / means[other] if means[other] else float("inf"),
            float(p),
        )
        for other, p in zip(others, p_values, strict=True)
    ]


def bootstrap_interval(
    per_user: Floats, level: float = 0.95, resamples: int = 1_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean over users.

    Parameters
    ----------
    per_user : float array
        A value per user; NaN, for a user without one, is left out.
    level : float
        Share of the resampled means inside the interval.
    resamples : int
        How often as many users are drawn again, with replacement.
    seed : int
        Of the draws.

    Examples
    --------
    >>> low, high = bootstrap_interval(np.array([0.2, 0.4, 0.6, np.nan, 0.8]))
    >>> low < 0.5 < high
    True
    """
    if not 0 < level < 1:
        raise ConfigError(f"level={level}: give a share between 0 and 1, such as 0.95")
    if resamples < 1:
        raise ConfigError(f"resamples={resamples}: give at least one")
    known = np.asarray(per_user, dtype=np.float64)
    known = known[~np.isnan(known)]
    if len(known) == 0:
        return float("nan"), float("nan")
    rng = make_rng(seed)
    means = np.empty(resamples)
    at_once = max(_MOST_DRAWS // len(known), 1)
    for start in range(0, resamples, at_once):
        count = min(at_once, resamples - start)
        drawn = rng.integers(len(known), size=(count, len(known)), dtype=np.int32)
        means[start : start + count] = known[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _paired_p(one: Floats, other: Floats) -> float:
    """Return the p-value of a paired t-test over the users that both have a value for."""
    difference = one - other
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2 or not difference.any():
        return 1.0
    if difference.std() == 0:
        return 0.0
    with warnings.catch_warnings():
        # SciPy warns of differences that hardly vary; their p is near 0 whatever the rounding.
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(stats.ttest_rel(one, other, nan_policy="omit").pvalue)
