"""Which of two items is better for a user, aspect by aspect, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from dmrank.answers.predict import rating_differences
from dmrank.data.ids import Id
from dmrank.directional.packing import quadratic_forms
from dmrank.directional.reference import confidence
from dmrank.fitted.calibrating import (
    blocks,
    definite_covariances,
    degrees_of_freedom,
    has_covariances,
    pair_differences,
)
from dmrank.fitted.contract import FittedModel
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.shown import html


@dataclass(frozen=True, eq=False)
class Comparison:
    """The predicted order of two items for a user.

    Attributes
    ----------
    user, first, second : str or int
        Ids.
    table : polars.DataFrame
        One row per aspect: aspect, better (the item that is predicted to be better; null for a
        tie), difference (rating of the first minus that of the second, on the scale of the
        ratings) and probability (that the better one is better; null if the model has no
        covariance).
    confidence : float or None
        Share of random pairs of items of which the model is less sure for this user, all aspects
        together; None if the model has no covariance.
    names : pair of str
        What the two items are called, if the ratings had names.
    """

    user: Id
    first: Id
    second: Id
    table: pl.DataFrame
    confidence: float | None
    names: tuple[str, str] = ("", "")

    def name_of(self, item: Id | None) -> str:
        """Return the name of one of the items, or "equal" for none."""
        if item is None:
            return "equal"
        return self.names[item != self.first] or str(item)

    @property
    def sentence(self) -> str:
        """What the table says, in a sentence; the surest aspects first.

        Examples
        --------
        >>> rows = {"aspect": ["room", "view"], "better": ["x", "y"], "difference": [0.4, -0.1],
        ...         "probability": [0.7, 0.55]}
        >>> Comparison("ann", "x", "y", pl.DataFrame(rows), None, ("Ritz", "Hilton")).sentence
        'Ritz will be liked better on room (70 %), Hilton on view (55 %).'
        """
        # Without probabilities, the larger difference is the surer one.
        rows = self.table.with_columns(size=pl.col("difference").abs())
        rows = rows.sort("probability", "size", descending=True, nulls_last=True)
        said: list[str] = []
        for item in (self.first, self.second):
            better = rows.filter(pl.col("better") == item)
            if len(better):
                verb = "" if said else " will be liked better"
                said.append(f"{self.name_of(item)}{verb} on {_listed(better)}")
        first, second = self.name_of(self.first), self.name_of(self.second)
        return f"{', '.join(said)}." if said else f"Nothing tells {first} and {second} apart."

    def _repr_html_(self) -> str:
        first, second = self.name_of(self.first), self.name_of(self.second)
        better = [self.name_of(item) for item in self.table["better"]]
        title = f"{first} or {second}, for {self.user}"
        if self.confidence is not None:
            title += f"\nAll aspects together: surer than of {self.confidence:.0%} of pairs."
        return html(title, self.table.with_columns(better=pl.Series(better, dtype=pl.String)), 2)

    def __repr__(self) -> str:
        first, second = self.name_of(self.first), self.name_of(self.second)
        width = max(len(name) for name in (*self.table["aspect"], "aspect"))
        items = max(len(name) for name in (first, second, "better"))
        head = f"  {'aspect':{width}}  {'better':{items}}  {'by':>5}  probability"
        lines = [f"{first} or {second}, for {self.user}", head.rstrip()]
        for row in self.table.iter_rows(named=True):
            sure = "–" if row["probability"] is None else f"{row['probability']:.0%}"
            better = self.name_of(row["better"])
            size = abs(row["difference"])
            lines.append(f"  {row['aspect']:{width}}  {better:{items}}  {size:5.2f}  {sure:>11}")
        if self.confidence is not None:
            lines.append(f"All aspects together: surer than of {self.confidence:.0%} of pairs.")
        return "\n".join(lines)


def _listed(rows: pl.DataFrame) -> str:
    """Name aspects, and how sure they are, in words."""
    named = [
        row["aspect"].replace("_", " ")
        + ("" if row["probability"] is None else f" ({row['probability']:.0%})".replace("%", " %"))
        for row in rows.iter_rows(named=True)
    ]
    *most, last = named
    return f"{', '.join(most)} and {last}" if most else last


def compare(model: FittedModel, user: Id, first: Id, second: Id, *, pairs: int) -> Comparison:
    """Say which of two items a user will rate higher on each aspect; see `Model.compare`."""
    catalogue = model.catalogue
    u, a, b = (
        np.array([code])
        for code in (
            catalogue.users.code(user),
            catalogue.items.code(first),
            catalogue.items.code(second),
        )
    )
    if a == b:
        raise DataError(f"item {first!r} is given twice: name two items to compare")
    if pairs < 1:
        raise ConfigError(f"pairs={pairs}: give at least one pair to compare the confidence to")
    difference = rating_differences(model, u, a, b)[0]
    probability = order_probabilities(model, u, a, b)
    order = np.select([difference > 0, difference < 0], [0, 1], default=2)
    better = catalogue.items.names(np.concatenate([a, b])).extend_constant(None, 1)[order]
    sure = [None] * len(difference) if probability is None else _of_better(probability[0])
    return Comparison(
        user=catalogue.users[int(u[0])],
        first=catalogue.items[int(a[0])],
        second=catalogue.items[int(b[0])],
        table=pl.DataFrame(
            {
                "aspect": list(catalogue.aspects),
                "better": better,
                "difference": difference,
                "probability": sure,
            },
            schema_overrides={"probability": pl.Float64},
        ),
        confidence=_share_less_sure(model, u, a, b, pairs),
        names=(catalogue.item_name(int(a[0])), catalogue.item_name(int(b[0]))),
    )


def order_probabilities(
    model: FittedModel, users: Codes, first: Codes, second: Codes
) -> Floats | None:
    """Return the calibrated probability that the first item is better, n × K.

    The difference of two calibrated ratings of one user is b_k (r̂_uik − r̂_ujk), and its variance
    is the calibrated diagonal of Σ_uij. None: the model has no covariance, and cannot tell.
    """
    if not has_covariances(model):
        return None
    mean, deviation = pair_differences(model, model.calibration, users, first, second)
    return _probability(model, mean / deviation)


def mix_probabilities(
    model: FittedModel,
    users: Codes,
    first: Codes,
    second: Codes,
    differences: Float32s,
    weights: Floats,
) -> Floats | None:
    """Return the calibrated probability that the first item is better by a mix of aspects, n.

    The difference by a mix w is Σ_k w_k b_k (r̂_uik − r̂_ujk), and its variance wᵀ Σ_uij w. None: the
    model has no covariance, and cannot tell.

    Parameters
    ----------
    model : FittedModel
        A fitted model.
    users, first, second : int arrays, n
        Codes.
    differences : float32 array, n × K
        Scores of the first item less those of the second.
    weights : float array, n × K
        The mix of each.
    """
    variance = _mix_variances(model, users, first, second, weights)
    if variance is None:
        return None
    mean = np.einsum("nk,nk->n", weights, model.calibration.slope * differences)
    # A mix of aspects with one rating for all has no spread, and no order.
    deviation = np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
    return _probability(model, mean / deviation)


def _mix_variances(
    model: FittedModel, users: Codes, first: Codes, second: Codes, weights: Floats
) -> Floats | None:
    """Return wᵀ Σ_uij w, n."""
    packed = model.packed_pairs(users, first, second)
    if packed is not None:
        return quadratic_forms(packed, weights)
    covariances = model.pair_covariances(users, first, second)
    if covariances is None:
        return None
    return np.asarray(np.einsum("nk,nkl,nl->n", weights, covariances, weights))


def _probability(model: FittedModel, distance: Floats) -> Floats:
    """Return the probability of an order by its mean in deviations, which are not calibrated."""
    eta = degrees_of_freedom(model.family())
    distance = distance / np.sqrt(model.calibration.order_factor)
    return np.asarray(special.ndtr(distance) if eta is None else special.stdtr(eta, distance))


def order_confidences(
    model: FittedModel, users: Codes, first: Codes, second: Codes
) -> Floats | None:
    """Return how sure the order of each pair is, all aspects together; None: cannot tell.

    It is the line integral ∫_0^∞ p(γ μ/‖μ‖) dγ along the predicted direction (paper 4.3), with the
    family of the model, its predicted mean difference μ and Σ_uij = Σ_ui + Σ_uj; 0 where μ = 0.
    """
    if not has_covariances(model):
        return None
    mean = model.score_pairs(users, first) - model.score_pairs(users, second)
    sure = np.empty(len(users))
    for rows in blocks(len(users)):
        covariances = model.pair_covariances(users[rows], first[rows], second[rows])
        assert covariances is not None
        with definite_covariances(model):
            sure[rows] = confidence(mean[rows], covariances, model.family())
    return sure


def _share_less_sure(
    model: FittedModel, user: Codes, first: Codes, second: Codes, pairs: int
) -> float | None:
    asked = order_confidences(model, user, first, second)
    if asked is None:
        return None
    rng = np.random.default_rng(model.config.seed)
    items = len(model.catalogue.items)
    one = rng.integers(items, size=pairs)
    other = (one + rng.integers(1, items, size=pairs)) % items
    of_pairs = order_confidences(model, np.repeat(user, pairs), one, other)
    assert of_pairs is not None
    return float((of_pairs < asked[0]).mean())


def _of_better(probability: Floats) -> list[float]:
    return np.maximum(probability, 1 - probability).tolist()
