"""What an evaluation found: one value per user for each model, aspect and metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from dmrank.evaluation.significance import PairedTest, compare_with_best
from dmrank.evaluation.whole import Estimate
from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.support.shown import html, text

#: The name of the mean over aspects in place of an aspect.
AVERAGE = "average"


@dataclass(frozen=True, eq=False)
class Report:
    """Values of all models on the same test users.

    Attributes
    ----------
    values : mapping of (model, aspect, metric) to float array
        A value per user, NaN for a user without a test item on the aspect.
    users : polars.Series
        The test users, in the order of the values.
    models, aspects, metrics : tuple of str
        Their names.
    primary_aspect : str
        The aspect that is reported on its own.
    protocol : str
        Among which candidates items were ranked.
    left_out : int
        Test rows of users or items without a training row, which no metric sees.
    joint_values : mapping of (model, aspect, metric) to float
        Metrics that are one value of all users together, such as coverage.
    equal_scores : mapping of (model, aspect) to int
        To how many users a model gives the same score for every item.
    whole_values : mapping of model to mapping of metric to Estimate
        Metrics that compare a model's scores by one aspect with those by another, such as contrast
        and lift: mean, ends of a 95 % interval and number of users.
    """

    values: Mapping[tuple[str, str, str], Floats]
    users: pl.Series
    models: tuple[str, ...]
    aspects: tuple[str, ...]
    metrics: tuple[str, ...]
    primary_aspect: str
    protocol: str
    left_out: int
    joint_values: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    equal_scores: Mapping[tuple[str, str], int] = field(default_factory=dict)
    whole_values: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)

    def per_user(self, model: str, metric: str, by: str | None = None) -> Floats:
        """Return the values of a model, one per user.

        Parameters
        ----------
        model, metric : str
            Names.
        by : str, optional
            An aspect, by default the primary one; `"average"` is each user's mean over the aspects
            that the user has.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> models = {"means": dmrank.ItemMean(), "popular": dmrank.Popularity()}
        >>> models = {name: model.fit(split.train) for name, model in models.items()}
        >>> report = dmrank.evaluate(models, split, metrics=["ndcg@10"])
        >>> len(report.per_user("means", "ndcg@10", by="value")) == len(report.users)
        True
        """
        aspect = self._checked(model, metric, by)
        if self._is_joint(metric) or self._is_whole(metric):
            raise ConfigError(
                f"{metric} is one value of all users together: no user has one, see Report.mean"
            )
        if aspect != AVERAGE:
            return self.values[model, aspect, metric]
        each = np.array([self.values[model, name, metric] for name in self.aspects])
        known_aspects = (~np.isnan(each)).sum(axis=0)
        total = np.nansum(each, axis=0)
        return np.divide(
            total, known_aspects, out=np.full(len(total), np.nan), where=known_aspects > 0
        )

    def mean(self, model: str, metric: str, by: str | None = None) -> float:
        """Return the mean over users, or the value of all users together if the metric is such.

        Of `"average"` it is the mean over aspects of these.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> models = {"means": dmrank.ItemMean(), "popular": dmrank.Popularity()}
        >>> models = {name: model.fit(split.train) for name, model in models.items()}
        >>> report = dmrank.evaluate(models, split, metrics=["ndcg@10"])
        >>> round(report.mean("means", "ndcg@10"), 3)
        0.563
        """
        aspect = self._checked(model, metric, by)
        if self._is_whole(metric):
            return self.whole_values[model][metric].mean
        if aspect == AVERAGE:
            return float(np.mean([self.mean(model, metric, name) for name in self.aspects]))
        if self._is_joint(metric):
            return self.joint_values[model, aspect, metric]
        return float(np.nanmean(self.values[model, aspect, metric]))

    def table(self) -> pl.DataFrame:
        """Return one row per model: every metric by the primary aspect and averaged over all.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(200, 50, 4_000, seed=1).ratings.split()
        >>> models = {"popular": dmrank.Popularity(), "means": dmrank.ItemMean()}
        >>> fitted = {name: model.fit(split.train) for name, model in models.items()}
        >>> dmrank.evaluate(fitted, split, metrics=["ndcg@10"]).table().columns
        ['model', 'ndcg@10', 'ndcg@10 average']
        """
        columns: dict[str, list[str] | list[float]] = {"model": list(self.models)}
        for metric in self.metrics:
            columns[metric] = [self.mean(model, metric) for model in self.models]
        if len(self.aspects) > 1:
            for metric in self._by_aspect:
                columns[f"{metric} {AVERAGE}"] = [
                    self.mean(model, metric, AVERAGE) for model in self.models
                ]
        return pl.DataFrame(columns)

    def by_aspect(self) -> pl.DataFrame:
        """Return one row per model, aspect and metric: the mean, and how many users it is over.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> models = {"means": dmrank.ItemMean(), "popular": dmrank.Popularity()}
        >>> models = {name: model.fit(split.train) for name, model in models.items()}
        >>> report = dmrank.evaluate(models, split, metrics=["ndcg@10"])
        >>> report.by_aspect().columns
        ['model', 'aspect', 'metric', 'mean', 'users']
        """
        rows = [
            {
                "model": model,
                "aspect": aspect,
                "metric": metric,
                "mean": self.mean(model, metric, aspect),
                "users": self._users_with_value(model, aspect, metric),
            }
            for model in self.models
            for aspect in self.aspects
            for metric in self._by_aspect
        ]
        return pl.DataFrame(rows)

    def intervals(self) -> pl.DataFrame:
        """Return one row per model and metric of the model as a whole: contrast and lift.

        Columns are model, metric, mean, low, high (a 95 % bootstrap interval) and users.
        """
        rows = [
            {"model": model, "metric": metric, **estimate._asdict()}
            for model, estimates in self.whole_values.items()
            for metric, estimate in estimates.items()
        ]
        return pl.DataFrame(rows)

    def significance(self, metric: str | None = None, by: str | None = None) -> list[PairedTest]:
        """Compare the best model with each other one: paired t-tests over users, Holm-corrected.

        A metric without a value per user, such as coverage, has no test: it gives no comparison.
        By default the first metric that has is used.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> models = {"means": dmrank.ItemMean(), "popular": dmrank.Popularity()}
        >>> models = {name: model.fit(split.train) for name, model in models.items()}
        >>> report = dmrank.evaluate(models, split, metrics=["ndcg@10"])
        >>> [test.best for test in report.significance("ndcg@10")]
        ['popular']
        """
        tested = [name for name in self._by_aspect if not self._is_joint(name)]
        wanted = metric or next(iter(tested), self.metrics[0])
        self._checked(self.models[0], wanted, by)
        if self._is_joint(wanted) or self._is_whole(wanted):
            return []
        values = {model: self.per_user(model, wanted, by) for model in self.models}
        return compare_with_best(values)

    def _checked(self, model: str, metric: str, by: str | None) -> str:
        """Return the aspect, or `"average"`, after a look at all names."""
        aspect = by or self.primary_aspect
        names = (model, self.models), (metric, self.metrics), (aspect, (*self.aspects, AVERAGE))
        for name, known in names:
            if name not in known:
                raise ConfigError(f"{name!r} was not evaluated; {did_you_mean(name, known)}")
        return aspect

    @property
    def _by_aspect(self) -> list[str]:
        """The metrics that have a value for each aspect."""
        return [metric for metric in self.metrics if not self._is_whole(metric)]

    def _is_whole(self, metric: str) -> bool:
        return any(metric in estimates for estimates in self.whole_values.values())

    def _is_joint(self, metric: str) -> bool:
        return any(name == metric for _, _, name in self.joint_values)

    def _users_with_value(self, model: str, aspect: str, metric: str) -> int:
        if self._is_joint(metric):
            return len(self.users)
        return int((~np.isnan(self.values[model, aspect, metric])).sum())

    def __repr__(self) -> str:
        return text(self._title(), self.table())

    def _repr_html_(self) -> str:
        return html(self._title(), self.table(), digits=4)

    def _title(self) -> str:
        return f"{len(self.users):,} users, {len(self.aspects)} aspects, ranking: {self.protocol}"
