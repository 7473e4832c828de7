"""Which of two items is better for a user, aspect by aspect, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.data.training_scale import from_training_scale
from dmrank.fitted.contract import Hooks
from dmrank.support.errors import ConfigError, DataError

Codes = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The predicted order of two items for a user.

    Attributes
    ----------
    user, first, second : str
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

    user: str
    first: str
    second: str
    table: pl.DataFrame
    confidence: float | None
    names: tuple[str, str] = ("", "")

    def name_of(self, item: str | None) -> str:
        """Return the name of one of the items, or "equal" for none."""
        if item is None:
            return "equal"
        return self.names[item != self.first] or item

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


class Comparing(Hooks):
    """What compares two items."""

    def _order_probabilities(
        self,
        users: Codes,  # noqa: ARG002
        first: Codes,  # noqa: ARG002
        second: Codes,  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        """Return the calibrated probability that the first item is better, n × K.

        None: the model has no covariance, and cannot tell.
        """
        return None

    def _order_confidences(
        self,
        users: Codes,  # noqa: ARG002
        first: Codes,  # noqa: ARG002
        second: Codes,  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        """Return how sure the order of each pair is, all aspects together; None: cannot tell."""
        return None

    def compare(self, user: str, first: str, second: str, *, pairs: int = 1_000) -> Comparison:
        """Say which of two items a user will rate higher on each aspect, and how sure that is.

        The probability of an order is that of the calibrated model. The confidence in the whole
        comparison is the line integral of the density along the predicted direction (paper 4.3),
        as a share of random pairs, because the integral itself has no readable unit. A model
        without a covariance (all but DMR) gives orders and differences only.

        Parameters
        ----------
        user, first, second : str
            Ids; the items may be known to the user or not.
        pairs : int
            Number of random pairs that the confidence is compared with; seeded.

        Returns
        -------
        Comparison
            With `table` and `confidence`.

        Examples
        --------
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> compared = model.compare("u000003", "h000001", "h000002")
        >>> compared.table.columns
        ['aspect', 'better', 'difference', 'probability']
        >>> 0 <= compared.confidence <= 1
        True
        """
        catalogue = self.catalogue
        u, a, b = (
            np.array([code])
            for code in (
                catalogue.users.code(user),
                catalogue.items.code(first),
                catalogue.items.code(second),
            )
        )
        if first == second:
            raise DataError(f"item {first!r} is given twice: name two items to compare")
        if pairs < 1:
            raise ConfigError(f"pairs={pairs}: give at least one pair to compare the confidence to")
        difference = self._rating_differences(u, a, b)[0]
        probability = self._order_probabilities(u, a, b)
        items = np.array([second, "", first], dtype=object)
        better = items[np.sign(difference).astype(int) + 1]
        sure = [None] * len(difference) if probability is None else _of_better(probability[0])
        return Comparison(
            user=user,
            first=first,
            second=second,
            table=pl.DataFrame(
                {
                    "aspect": list(catalogue.aspects),
                    "better": [name or None for name in better],
                    "difference": difference,
                    "probability": sure,
                },
                schema_overrides={"better": pl.String, "probability": pl.Float64},
            ),
            confidence=self._share_less_sure(u, a, b, pairs),
            names=(catalogue.item_name(int(a[0])), catalogue.item_name(int(b[0]))),
        )

    def _rating_differences(self, users: Codes, first: Codes, second: Codes) -> NDArray[np.float64]:
        """Return the differences of calibrated ratings, n × K, on the scale of the ratings.

        They are not clipped: two items at the end of the scale still have an order.
        """
        raw = self._raw_scores(users, first) - self._raw_scores(users, second)
        scale = self.catalogue.scale
        on_training_scale = self._calibration.slope * raw
        return from_training_scale(on_training_scale, scale) - from_training_scale(0 * raw, scale)

    def _share_less_sure(
        self, user: Codes, first: Codes, second: Codes, pairs: int
    ) -> float | None:
        asked = self._order_confidences(user, first, second)
        if asked is None:
            return None
        rng = np.random.default_rng(self.config.seed)
        items = len(self.catalogue.items)
        one = rng.integers(items, size=pairs)
        other = (one + rng.integers(1, items, size=pairs)) % items
        of_pairs = self._order_confidences(np.repeat(user, pairs), one, other)
        assert of_pairs is not None
        return float((of_pairs < asked[0]).mean())


def _of_better(probability: NDArray[np.float64]) -> list[float]:
    return np.maximum(probability, 1 - probability).tolist()
