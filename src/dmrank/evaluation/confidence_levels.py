"""Is a model right where it is sure? (paper 4.3, Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dmrank.answers.compare import order_confidences, order_probabilities
from dmrank.evaluation.order_pairs import OrderPairs
from dmrank.metrics import pair_accuracy
from dmrank.models.base import Model
from dmrank.support.arrays import Floats, Int64s
from dmrank.support.errors import ConfigError, UnsupportedError


@dataclass(frozen=True, eq=False)
class ConfidenceLevels:
    """Equal groups of pairs by confidence, the least sure first.

    Attributes
    ----------
    accuracy : float array
        Share of right orders in each group, over all aspects; NaN without an observed order.
    confidence : float array
        Mean confidence in each group.
    pairs : int array
        Pairs in each group.
    rank_correlation : float
        Spearman's, of the number of a group with its accuracy.
    pair_correlation : float
        Spearman's, of a pair's confidence with its share of right orders.
    """

    accuracy: Floats
    confidence: Floats
    pairs: Int64s
    rank_correlation: float
    pair_correlation: float


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """How often what was predicted with a probability came true.

    Attributes
    ----------
    predicted, observed : float arrays
        Mean probability in each bin, and the share that came true; NaN for an empty bin.
    counts : int array
        Orders in each bin.
    error : float
        Expected calibration error: the mean of abs(predicted − observed) over orders.
    """

    predicted: Floats
    observed: Floats
    counts: Int64s
    error: float


def pair_confidence(model: Model, pairs: OrderPairs) -> Floats:
    """Return how sure a model is of each order: the line integral along its own direction.

    It is ∫_0^∞ p(γ μ/‖μ‖) dγ with the family of the model, its predicted mean difference μ and
    Σ_uij = Σ_ui + Σ_uj; 0 where μ = 0. For the density of a direction it is that of μ/‖μ‖.

    Examples
    --------
    >>> from dmrank import DMR, make_ratings
    >>> from dmrank.evaluation import rated_pairs
    >>> split = make_ratings(100, 30, 1_500, seed=1).ratings.split()
    >>> pairs = rated_pairs(split)
    >>> model = DMR(iterations=100, threads=1).fit(split.train)
    >>> bool((pair_confidence(model, pairs) > 0).all())
    True
    """
    asked = pairs.asked(model)
    return _known(model, order_confidences(asked, pairs.users, pairs.first, pairs.second))


def _known(model: Model, values: Floats | None) -> Floats:
    if values is None:
        raise UnsupportedError(
            f"{type(model).__name__} has no covariance, and cannot say how sure it is: use Hurdle "
            "or DMR"
        )
    return values


def confidence_levels(
    confidence: Floats, pairs: OrderPairs, predicted: Floats, levels: int = 10
) -> ConfidenceLevels:
    """Cut pairs into equal groups by confidence, and measure the accuracy in each.

    Parameters
    ----------
    confidence : float array, n
        See `pair_confidence`.
    pairs : OrderPairs
        The pairs.
    predicted : float array, n × K
        Predicted differences, see `OrderPairs.predicted`.
    levels : int
        Number of groups.
    """
    if levels < 2:
        raise ConfigError(f"levels={levels}: give at least two groups to compare")
    order = np.argsort(confidence, kind="stable")
    bounds = np.arange(levels + 1) * len(order) // levels
    accuracy = pair_accuracy(pairs.observed[order], predicted[order], bounds).per_user
    of_pairs = pair_accuracy(pairs.observed, predicted, np.arange(len(order) + 1)).per_user
    groups = np.split(confidence[order], bounds[1:-1])
    return ConfidenceLevels(
        accuracy=accuracy,
        confidence=np.array([group.mean() if len(group) else np.nan for group in groups]),
        pairs=np.diff(bounds),
        rank_correlation=_rank_correlation(np.arange(levels), accuracy),
        pair_correlation=_rank_correlation(confidence, of_pairs),
    )


def order_probability(model: Model, pairs: OrderPairs) -> Floats:
    """Return the calibrated probability that the first item beats the second, n × K.

    The difference of two calibrated ratings of one user is b_k (r̂_uik − r̂_ujk), and its variance
    is the calibrated diagonal of Σ_uij.
    """
    asked = pairs.asked(model)
    return _known(model, order_probabilities(asked, pairs.users, pairs.first, pairs.second))


def calibration_curve(probability: Floats, observed: Floats, bins: int = 10) -> CalibrationCurve:
    """Compare predicted probabilities with what happened, in bins of equal width.

    Parameters
    ----------
    probability : float array
        That the first item beats the second, of pairs and aspects.
    observed : float array of the same shape
        Observed differences; ties and NaN are left out.
    bins : int
        Number of bins from 0 to 1.

    Examples
    --------
    >>> curve = calibration_curve([0.1, 0.3, 0.7, 0.7], [-1.0, 2.0, 1.0, 0.0], bins=2)
    >>> print(curve.predicted, curve.observed, curve.counts, round(curve.error, 2))
    [0.2 0.7] [0.5 1. ] [2 1] 0.3
    """
    if bins < 1:
        raise ConfigError(f"bins={bins}: give at least one bin")
    observed = np.asarray(observed, dtype=np.float64)
    ordered = np.nan_to_num(observed) != 0
    said, came_true = np.asarray(probability)[ordered], observed[ordered] > 0
    bin_of = np.minimum((said * bins).astype(np.int64), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    sums = (np.bincount(bin_of, values, minlength=bins) for values in (said, came_true))
    predicted, happened = (
        np.divide(total, counts, out=np.full(bins, np.nan), where=counts > 0) for total in sums
    )
    gaps = np.nan_to_num(np.abs(predicted - happened))
    error = float(gaps @ counts / counts.sum()) if len(said) else float("nan")
    return CalibrationCurve(predicted, happened, counts, error)


def _rank_correlation(one: NDArray[np.number], other: Floats) -> float:
    """Return Spearman's rank correlation, NaN where one does not vary or is not known."""
    known = ~np.isnan(other)
    # spearmanr gives the same to a rounding, but warns where one does not vary.
    ranks = np.array([stats.rankdata(values[known]) for values in (one, other)])
    if known.sum() < 2 or not np.ptp(ranks, axis=1).all():
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])
