"""Models that predict rating vectors with a covariance: orders, gaps and correlations from Σ_ui."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from dmrank.answers.given import given_ratings
from dmrank.data.ratings import Ratings
from dmrank.data.training_scale import from_training_scale, to_training_scale
from dmrank.directional.condition import condition
from dmrank.directional.families import Family, Student
from dmrank.directional.reference import confidence
from dmrank.fitted.calibrating import held_out_ratings
from dmrank.fitted.calibration import Calibration, covariance_factor, order_factor
from dmrank.fitted.fitting import training_values
from dmrank.models.kinds.factored import FactorModel
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.plots import draw_correlation, draw_direction, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]

#: So many ratings are enough for one number.
_CALIBRATION_ROWS = 20_000
#: Vectors whose matrices are in memory at once.
_BLOCK = 8_192


class MultivariateModel(FactorModel):
    """A factor model that knows Σ_ui, how the aspects of a rating vary together."""

    @abstractmethod
    def _covariances(self, users: Codes, items: Codes) -> Floats:
        """Return Σ_ui of (user, item) pairs, n × K × K, not calibrated."""

    @abstractmethod
    def _family(self) -> Family:
        """Return the family of the density."""

    @property
    def _degrees_of_freedom(self) -> float | None:
        family = self._family()
        return family.degrees_of_freedom if isinstance(family, Student) else None

    # Calibration.

    def _calibrate(self, ratings: Ratings, validation: Ratings | None) -> Calibration:
        calibration = super()._calibrate(ratings, validation)
        users, items, values = (
            (ratings.user_codes, ratings.item_codes, training_values(ratings))
            if validation is None
            else held_out_ratings(ratings, validation)
        )
        order = np.random.default_rng(self.config.seed).permutation(len(users))
        rows = order[:_CALIBRATION_ROWS]
        predicted = calibration(users[rows], self._raw_scores(users[rows], items[rows]))
        spread = covariance_factor(
            values[rows] - predicted, self._covariances(users[rows], items[rows])
        )
        orders = None
        if validation is not None:
            # Rows of one user, drawn in any order: each makes a pair with the next.
            rows = order[np.argsort(users[order], kind="stable")]
            same = users[rows[1:]] == users[rows[:-1]]
            first, second = rows[1:][same][:_CALIBRATION_ROWS], rows[:-1][same][:_CALIBRATION_ROWS]
            mean, deviation = self._differences(
                calibration, users[first], items[first], items[second]
            )
            observed = values[first] - values[second]
            orders = order_factor(observed, mean / deviation, self._degrees_of_freedom)
        if orders is None:
            orders = spread * _scale_of_variance(self._degrees_of_freedom)
        return replace(calibration, covariance_factor=spread, order_factor=orders)

    # Two items.

    def _differences(
        self, calibration: Calibration, users: Codes, first: Codes, second: Codes
    ) -> tuple[Floats, Floats]:
        """Return calibrated means b_k (r̂_uik − r̂_ujk), and √Σ_uijkk, which is not calibrated."""
        raw = self._raw_scores(users, first) - self._raw_scores(users, second)
        deviation = np.empty(raw.shape)
        for rows in _blocks(len(users)):
            covariances = self._pair_covariances(users[rows], first[rows], second[rows])
            deviation[rows] = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        return np.asarray(calibration.slope * raw, dtype=np.float64), deviation

    def _pair_covariances(self, users: Codes, first: Codes, second: Codes) -> Floats:
        """Return Σ_uij = Σ_ui + Σ_uj."""
        return self._covariances(users, first) + self._covariances(users, second)

    def _order_probabilities(self, users: Codes, first: Codes, second: Codes) -> Floats:
        calibration = self._calibration
        mean, deviation = self._differences(calibration, users, first, second)
        distance = mean / (np.sqrt(calibration.order_factor) * deviation)
        if self._degrees_of_freedom is None:
            return np.asarray(special.ndtr(distance))
        return np.asarray(special.stdtr(self._degrees_of_freedom, distance))

    def _order_confidences(self, users: Codes, first: Codes, second: Codes) -> Floats:
        """Return the line integral along the predicted direction (paper 4.3)."""
        mean = self._raw_scores(users, first) - self._raw_scores(users, second)
        sure = np.empty(len(users))
        for rows in _blocks(len(users)):
            covariances = self._pair_covariances(users[rows], first[rows], second[rows])
            sure[rows] = confidence(mean[rows], covariances, self._family())
        return sure

    # One item.

    def correlation(self, user: str, item: str) -> Floats:
        """Return the correlation of the aspects in the user's rating of the item, K × K.

        It is that of Σ_ui = λ Σ_u + (1−λ) Σ_i.
        """
        users, items = self.catalogue.users, self.catalogue.items
        return self._correlations(np.array([users.code(user)]), np.array([items.code(item)]))[0]

    def _correlations(self, users: Codes, items: Codes) -> Floats:
        return _correlations(self._covariances(users, items))

    def plot_correlation(self, user: str, item: str | None = None) -> Figure:
        """Draw how the aspects of a user's ratings go together, as a heat map.

        Parameters
        ----------
        user : str
            Id.
        item : str, optional
            Of the rating of this item, that is of Σ_ui; by default averaged over what the user
            rated in training.
        """
        catalogue = self.catalogue
        code = catalogue.users.code(user)
        if item is None:
            _, items = catalogue.seen_by(np.array([code]))
            title = f"Ratings by {user}"
            if len(items) == 0:
                items = np.flatnonzero(catalogue.rated_items).astype(np.int32)
        else:
            items = np.array([catalogue.items.code(item)], dtype=np.int32)
            title = f"{user} on {catalogue.item_name(int(items[0]))}"
        mean = self._covariances(np.full(len(items), code), items).mean(axis=0)
        size = 2.0 + 0.55 * len(catalogue.aspects)
        with figure(size + 0.6, size) as drawn:
            axes = drawn.subplots()
            names = [name.replace("_", " ") for name in catalogue.aspects]
            draw_correlation(axes, _correlations(mean[None])[0], names)
            axes.set_title(f"{title}: correlation of aspects")
        return drawn

    def plot_comparison(
        self, user: str, first: str, second: str, aspects: tuple[str, str] | None = None
    ) -> Figure:
        """Draw the predicted difference of two items on two aspects, as in the paper's Figure 2.

        Ellipses are the density of the difference, first item minus second, in ratings; the ray
        is the predicted direction, and the area on it how sure that is.

        Parameters
        ----------
        user, first, second : str
            Ids.
        aspects : pair of str, optional
            By default the two that differ most.
        """
        catalogue = self.catalogue
        u = np.array([catalogue.users.code(user)])
        a, b = (np.array([catalogue.items.code(name)]) for name in (first, second))
        mean = self._rating_differences(u, a, b)[0]
        if not mean.any() or first == second:
            raise DataError(
                f"{first!r} and {second!r} do not differ: there is no direction to draw"
            )
        if aspects is None:
            chosen = np.sort(np.argsort(-np.abs(mean), kind="stable")[:2])
        else:
            chosen = np.array([catalogue.aspect(name) for name in aspects])
        if len(set(chosen.tolist())) != 2:
            raise ConfigError(f"aspects={aspects!r}: name two different aspects to draw")
        # Scores times slope times stretch are ratings.
        stretch = self._stretch
        sigma = self._calibration.order_factor * self._pair_covariances(u, a, b)[0]
        sigma = (sigma * np.outer(stretch, stretch))[np.ix_(chosen, chosen)]
        names = [f"difference in {catalogue.aspects[k].replace('_', ' ')}" for k in chosen]
        one, other = (
            shorten(catalogue.item_name(int(code[0])), 36, placeholder=" …") for code in (a, b)
        )
        with figure(5.4, 5.6) as drawn:
            axes = drawn.subplots()
            draw_direction(
                axes,
                mean[chosen],
                sigma,
                mean[chosen],
                names=names,
                degrees_of_freedom=self._degrees_of_freedom,
                title=f"{one}\nminus {other}, for {user}",
            )
            axes.legend(frameon=False, loc="best", fontsize=9)
        return drawn

    @property
    def _stretch(self) -> Floats:
        """How many units of its own scale a unit of the training scale is, per aspect."""
        scale = self.catalogue.scale
        zero, one = (from_training_scale(np.full(len(scale), x), scale) for x in (0.0, 1.0))
        return one - zero

    def _aspect_relevance(self, users: Codes, items: Codes, aspect: int) -> Floats:
        """Return the correlation of each aspect with the one that ranks (paper 4.5)."""
        return self._correlations(users, items)[:, aspect]

    def complete(self, partial_ratings: object) -> pl.DataFrame:
        """Predict the missing aspects of ratings from the given ones, and how far off that may be.

        A rating vector is taken as N(r̂_ui, Σ_ui), both calibrated; what is returned for a missing
        aspect is its conditional mean and standard deviation, given the others. In the student
        family the mean is exact and the deviation that of a normal distribution with the same
        covariance.

        Parameters
        ----------
        partial_ratings : Ratings or table
            With user, item and any of the aspects, null where not given. A table is a polars,
            pandas or Arrow one, or a file.

        Returns
        -------
        polars.DataFrame
            A row per given row, in the same order: user, item, every aspect (a given one as it
            was), and for each its standard deviation, named like `service_sd`, 0 if it was given.

        Examples
        --------
        >>> import polars as pl
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> asked = pl.DataFrame({"user": "u000003", "item": "h000001", "overall": [1.0, 5.0]})
        >>> bad, good = model.complete(asked)["rooms"]
        >>> bad < good
        True
        """
        catalogue = self.catalogue
        given = given_ratings(partial_ratings, catalogue)
        users, items = catalogue.users.codes(given.users), catalogue.items.codes(given.items)
        mean, deviation = self._conditional(
            users, items, to_training_scale(given.values, catalogue.scale)
        )
        known = ~np.isnan(given.values)
        ratings = from_training_scale(np.clip(mean, 1, 5), catalogue.scale)
        columns = dict(
            zip(catalogue.aspects, np.where(known, given.values, ratings).T, strict=True)
        )
        spread = (deviation * self._stretch).T
        columns |= {f"{name}_sd": spread[k] for k, name in enumerate(catalogue.aspects)}
        return pl.DataFrame([given.users.alias("user"), given.items.alias("item")]).with_columns(
            pl.Series(name, column, dtype=pl.Float64) for name, column in columns.items()
        )

    def _conditional(self, users: Codes, items: Codes, known: Floats) -> tuple[Floats, Floats]:
        """Return mean and deviation of every aspect given the known ones, on the training scale."""
        calibration = self._calibration
        ratings = calibration(users, self._raw_scores(users, items))
        mean, deviation = np.empty(known.shape), np.empty(known.shape)
        for rows in _blocks(len(users)):
            covariances = self._covariances(users[rows], items[rows])
            mean[rows], deviation[rows] = condition(
                ratings[rows], calibration.covariance_factor * covariances, known[rows]
            )
        return mean, deviation


def _scale_of_variance(degrees_of_freedom: float | None) -> float:
    """Return the squared scale of a distribution with variance 1: 1, for Student's t (η−2)/η."""
    if degrees_of_freedom is None or degrees_of_freedom <= 2:
        return 1.0
    return (degrees_of_freedom - 2) / degrees_of_freedom


def _correlations(covariances: Floats) -> Floats:
    deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / (deviations[:, :, None] * deviations[:, None, :])


def _blocks(rows: int) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, rows, _BLOCK)]
