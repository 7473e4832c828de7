"""What is in the ratings: the paper's Table 1, and what one wants to know of each aspect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dmrank.data.ratings import Ratings
from dmrank.data.rows import count_codes
from dmrank.support.arrays import AnyFloats, Bools, Codes, Floats
from dmrank.support.shown import html, text


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of ratings; made by :func:`describe`.

    Attributes
    ----------
    users, items, ratings : int
        Numbers of users and items with a rating, and of rating vectors.
    aspects : tuple of str
        Names of the aspects; the arrays below follow this order.
    ratings_per_user, ratings_per_item : tuple of three float
        Least, median and most.
    missing : float array, K
        Share of rating vectors without the aspect.
    low, high, mean, deviation : float array, K
        Scale, mean and standard deviation of each aspect.
    correlation : float array, K × K
        Correlation of two aspects over the vectors that have both; NaN where it is not defined.
    """

    users: int
    items: int
    ratings: int
    aspects: tuple[str, ...]
    ratings_per_user: tuple[float, float, float]
    ratings_per_item: tuple[float, float, float]
    missing: Floats
    low: Floats
    high: Floats
    mean: Floats
    deviation: Floats
    correlation: Floats

    @property
    def density(self) -> float:
        """Share of all (user, item) pairs that are rated.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> dmrank.describe(ratings).density
        0.5
        """
        return self.ratings / (self.users * self.items) if self.ratings else 0.0

    def per_aspect(self) -> pl.DataFrame:
        """Return one row per aspect: missing share, scale, mean, deviation and correlations.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> dmrank.describe(ratings).per_aspect().columns[:3]
        ['aspect', 'missing', 'low']
        """
        columns = {
            "aspect": list(self.aspects),
            "missing": self.missing,
            "low": self.low,
            "high": self.high,
            "mean": self.mean,
            "deviation": self.deviation,
        }
        correlations = {name: self.correlation[:, k] for k, name in enumerate(self.aspects)}
        return pl.DataFrame(columns).with_columns(
            pl.Series(f"r({name})", column) for name, column in correlations.items()
        )

    def __repr__(self) -> str:
        return text(self._title(), self.per_aspect(), digits=2)

    def _repr_html_(self) -> str:
        return html(self._title(), self.per_aspect(), digits=2)

    def _title(self) -> str:
        return (
            f"{self.users:,} users × {self.items:,} items, {self.ratings:,} rating vectors "
            f"({self.density:.2%} of all pairs)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and lists, None where a number is not defined."""
        rows = self.per_aspect().select("aspect", "missing", "low", "high", "mean", "deviation")
        return {
            "users": self.users,
            "items": self.items,
            "aspects": len(self.aspects),
            "ratings": self.ratings,
            "density": self.density,
            "ratings_per_user": dict(zip(_LEAST_TO_MOST, self.ratings_per_user, strict=True)),
            "ratings_per_item": dict(zip(_LEAST_TO_MOST, self.ratings_per_item, strict=True)),
            "per_aspect": rows.fill_nan(None).to_dicts(),
            "correlation": [
                [None if np.isnan(value) else value for value in row]
                for row in self.correlation.tolist()
            ],
        }


_LEAST_TO_MOST = ("least", "median", "most")


def describe(ratings: Ratings) -> Statistics:
    """Count and average ratings.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(
    ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
    ...     [[5, 4], [3, float("nan")], [4, 3]], aspects=["overall", "service"],
    ... )
    >>> statistics = describe(ratings)
    >>> statistics.users, statistics.items, statistics.ratings
    (2, 2, 3)
    >>> statistics.missing.round(2), statistics.correlation.round(2).tolist()
    (array([0.  , 0.33]), [[1.0, 1.0], [1.0, 1.0]])
    """
    per_user = np.diff(ratings.user_pointer)
    per_item = count_codes(ratings.item_codes, len(ratings.items))
    observed = ~np.isnan(ratings.values)
    count = observed.sum(axis=0)
    values = ratings.values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean = np.nansum(values, axis=0) / count
        deviation = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / count)
    return Statistics(
        users=int((per_user > 0).sum()),
        items=int((per_item > 0).sum()),
        ratings=len(ratings),
        aspects=ratings.aspects,
        ratings_per_user=_spread(per_user),
        ratings_per_item=_spread(per_item),
        missing=1 - count / max(len(ratings), 1),
        low=ratings.scale[:, 0].astype(np.float64),
        high=ratings.scale[:, 1].astype(np.float64),
        mean=mean,
        deviation=deviation,
        correlation=pairwise_correlation(values, observed),
    )


def pairwise_covariance(values: AnyFloats, observed: Bools) -> tuple[Floats, Floats]:
    """Return the covariance of each two columns over the rows that have both, and their number.

    The covariance is NaN where no row has both.
    """
    mask = observed.astype(np.float64)
    rows = mask.T @ mask
    # Products of deviations from a common centre: large ratings do not cancel.
    filled = np.where(observed, values, 0.0).astype(np.float64)
    deviations = (filled - filled.sum(axis=0) / np.maximum(mask.sum(axis=0), 1)) * mask
    sums = deviations.T @ mask
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = deviations.T @ deviations / rows - sums * sums.T / rows**2
    return covariance, rows


def pairwise_correlation(values: AnyFloats, observed: Bools) -> Floats:
    """Return the correlation of each two columns over the rows that have both.

    It is NaN where no row has both, or where one of the columns does not vary over these rows.
    """
    mask = observed.astype(np.float64)
    filled = np.where(observed, values, 0.0).astype(np.float64)
    covariance, rows = pairwise_covariance(filled, observed)
    centre = filled.sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    deviations = (filled - centre) * mask
    with np.errstate(invalid="ignore", divide="ignore"):
        # Entry (j, k): the variance of column j over the rows that have k too.
        variance = (deviations**2).T @ mask / rows - (deviations.T @ mask / rows) ** 2
        correlation = covariance / np.sqrt(variance * variance.T)
    correlation[~(variance * variance.T > 1e-12)] = np.nan
    return np.clip(correlation, -1, 1)


def _spread(counts: Codes) -> tuple[float, float, float]:
    counts = counts[counts > 0]
    if len(counts) == 0:
        return (0.0, 0.0, 0.0)
    return float(counts.min()), float(np.median(counts)), float(counts.max())
