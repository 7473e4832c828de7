"""Tuning: the parameters with the best validation value."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from dmrank.data.ratings import Ratings, Split
from dmrank.experiments.search import ParameterSearch
from dmrank.experiments.trials import STRATEGIES, SearchSettings, Strategy
from dmrank.metrics import parse_metric
from dmrank.models import Model, find_model
from dmrank.models.config import Config, Search, all_fields
from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.support.extras import require
from dmrank.support.seeds import check_seed
from dmrank.support.shown import html


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    Attributes
    ----------
    model : type of Model
        What was tuned.
    parameters : dict
        The best parameters: those that were searched, and those that were given.
    value : float
        Their validation value.
    metric : str
        What was maximised.
    trials : polars.DataFrame
        One row per trial: number, value, state, seconds, and one column per searched parameter.
    """

    model: type[Model]
    parameters: dict[str, Any]
    value: float
    metric: str
    trials: pl.DataFrame

    def make(self, **changes: Any) -> Model:
        """Return an unfitted model with the best parameters.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> dmrank.tune("ItemMean", split, trials=2).make()
        ItemMean(seed=0, shrinkage=9.43477073452948)
        """
        return self.model(**{**self.parameters, **changes})

    def __repr__(self) -> str:
        found = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        name = self.model.__name__
        return f"Tuning({name}({found}): {self.metric} {self.value:.4f}, {len(self.trials)} trials)"

    def _repr_html_(self) -> str:
        return html(repr(self), self.trials, digits=4)


def search_space(config: type[Config]) -> dict[str, Search]:
    """Return where a model's parameters are searched.

    Examples
    --------
    >>> from dmrank.models.itemmean import ItemMeanConfig
    >>> search_space(ItemMeanConfig)
    {'shrinkage': Search(values=(1.0, 2.0, 5.0, 10.0, 20.0), log=True)}
    """
    return {
        name: entry
        for name, field in all_fields(config).items()
        for entry in field.metadata
        if isinstance(entry, Search)
    }


def tune(
    model: str | type[Model],
    split: Split,
    *,
    trials: int = 30,
    strategy: Strategy = "tpe",
    parameters: Mapping[str, Any] | None = None,
    space: Mapping[str, Search] | None = None,
    metric: str = "ndcg@10",
    users: int = 1_000,
    seed: int = 0,
    prune: bool = True,
    storage: str | os.PathLike[str] | None = None,
    width: int = 1,
) -> Tuning:
    """Search the parameters with which a model ranks validation ratings best.

    The test part of the split is not looked at.

    Parameters
    ----------
    model : str or type of Model
        A model by its name, such as ``"DMR"`` or ``"mbpr"``, or its class.
    split : Split
        Trained on its train part, judged on its validation part.
    trials : int
        How many settings are tried. The first are the defaults and the changes of them that the
        model's `Config.starts` names (not with ``"grid"``).
    strategy : {"tpe", "grid", "random"}
        How settings are chosen: by Optuna's tree-structured Parzen estimator, from the grid of the
        space in a seeded order, or at random.
    parameters : mapping, optional
        Parameters that are not searched.
    space : mapping of str to Search, optional
        Where to look, instead of where the model declares it.
    metric : str
        What is maximised, ranking by the primary aspect.
    users : int
        The most validation users that a trial is judged on.
    seed : int
        Seed of the search, of the users, and of the models.
    prune : bool
        Give trials up while they train, by successive halving: only the best third of those that
        were looked at 3, 9, 27, … times goes on.
    storage : path, optional
        SQLite file that keeps finished trials; a search that was cut off goes on from there.
    width : int
        How many settings are chosen at a time, knowing the trials before them and not each other:
        as many can be tried at the same time by the workers of a :func:`dmrank.cluster`. What is
        found depends on it, and never on the workers.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> tuned = tune("ItemMean", split, trials=3)
    >>> tuned.trials.columns
    ['trial', 'value', 'state', 'seconds', 'shrinkage']
    >>> model = tuned.make().fit(split.train)
    """
    return tune_on(
        model,
        split.train,
        split.validation,
        trials=trials,
        strategy=strategy,
        parameters=parameters,
        space=space,
        metric=metric,
        users=users,
        seed=seed,
        prune=prune,
        storage=storage,
        width=width,
    )


def tune_on(
    model: str | type[Model],
    train: Ratings,
    validation: Ratings,
    *,
    trials: int,
    strategy: Strategy,
    parameters: Mapping[str, Any] | None,
    metric: str,
    users: int,
    seed: int,
    storage: str | os.PathLike[str] | None,
    space: Mapping[str, Search] | None = None,
    prune: bool = True,
    width: int = 1,
) -> Tuning:
    """Do the same as :func:`tune` without a test part: with training and validation ratings.

    They share one id map.
    """
    require("optuna", "tuning")
    check_seed(seed)  # also that of the search, where parameters have another
    kind = find_model(model) if isinstance(model, str) else model
    judged_by: dict[str, Any] = {
        "validation_metric": str(parse_metric(metric)),
        "validation_users": users,
    }
    given = {"seed": seed, **(parameters or {})}
    kind(**given, **judged_by)  # wrong parameters are refused before anything is run
    searched = _checked_space(kind, space, given)
    if strategy not in STRATEGIES:
        hint = did_you_mean(str(strategy), STRATEGIES)
        raise ConfigError(f"there is no strategy {strategy!r}; {hint}")
    if trials < 1:
        raise ConfigError(f"trials={trials}: try at least one setting")
    if width < 1:
        raise ConfigError(f"width={width}: choose at least one setting at a time")
    settings = SearchSettings(kind, {**given, **judged_by}, searched, strategy, seed, prune)
    search = ParameterSearch(settings, width)
    # The number of threads changes no bit, so that a search may go on with another.
    results_depend_on = {name: value for name, value in settings.given.items() if name != "threads"}
    identity = (results_depend_on, searched, strategy, prune, *(() if width == 1 else (width,)))
    search.open(storage, f"{kind.__name__}-{_fingerprint(train, validation, identity)}")
    search.run(train, validation, trials)
    best, table = search.result()
    found = {**given, **best.params}
    return Tuning(kind, found, float(best.value or 0.0), judged_by["validation_metric"], table)


def _checked_space(
    kind: type[Model], space: Mapping[str, Search] | None, given: dict[str, Any]
) -> dict[str, Search]:
    searched = search_space(kind.Config) if space is None else dict(space)
    for name, search in searched.items():
        if name not in all_fields(kind.Config):
            hint = did_you_mean(name, all_fields(kind.Config))
            raise ConfigError(f"{kind.__name__} has no parameter {name!r}; {hint}")
        _check_search(name, search)
    fixed = _names_of(kind, given)
    members = kind.Config.gathered(given).get("members", kind.Config.parts())
    return {
        name: search
        for name, search in searched.items()
        if name not in fixed
        and ("." not in name or _part(name) in {*kind.Config.model_fields, *members})
    }


def _check_search(name: str, search: Search) -> None:
    if not search.values:
        raise ConfigError(f"{name}: nothing to search; give Search some values")
    numbers = [value for value in search.values if isinstance(value, int | float)]
    if search.log and min(numbers, default=1) <= 0:
        raise ConfigError(
            f"{name}: ratios of {min(numbers)!r} cannot be searched; give Search values above 0, "
            "or log=False"
        )


def _names_of(kind: type[Model], given: dict[str, Any]) -> set[str]:
    """Return the names of given parameters, those of members as ``ease.regularization``."""
    fields = kind.Config.gathered(given)
    of_parts = {**fields, **fields.get("members", {})}
    inner = {
        f"{part}.{name}"
        for part, parameters in of_parts.items()
        if isinstance(parameters, Mapping)
        for name in parameters
    }
    return {*fields, *inner}


def _part(name: str) -> str:
    return name.partition(".")[0]


def _fingerprint(train: Ratings, validation: Ratings, settings: tuple[Any, ...]) -> str:
    """Return what tells a search from others, so that their trials are never mixed."""
    digest = hashlib.sha256(json.dumps(settings, default=str, sort_keys=True).encode())
    for part in (train, validation):
        part.update_digest(digest)
    return digest.hexdigest()[:16]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
