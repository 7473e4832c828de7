"""Tuning: the parameters with the best validation value, by Optuna.

Where to look is declared beside each parameter (`models.config.Search`). Every trial is seeded by
its number, so that a search that was cut off and resumed ends like one that was not.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from dmrank.data.ratings import Split
from dmrank.metrics import parse_metric
from dmrank.models import Model, find_model
from dmrank.models.config import Config, Search
from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.support.progress import bar
from dmrank.training.history import INTERRUPTED, History

if TYPE_CHECKING:
    import optuna

Strategy = Literal["tpe", "grid", "random"]

#: Successive halving: of the trials that have been looked at so often, every third goes on to
#: three times as many looks, and so on.
_FIRST_RUNG = 3
_REDUCTION = 3
_PRUNED = "pruned"


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
        """Return an unfitted model with the best parameters."""
        return self.model(**{**self.parameters, **changes})

    def __repr__(self) -> str:
        found = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        name = self.model.__name__
        return f"Tuning({name}({found}): {self.metric} {self.value:.4f}, {len(self.trials)} trials)"


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
        for name, field in config.model_fields.items()
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

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> tuned = tune("ItemMean", split, trials=3)
    >>> tuned.trials.columns
    ['trial', 'value', 'state', 'seconds', 'shrinkage']
    >>> model = tuned.make().fit(split.train)
    """
    kind = find_model(model) if isinstance(model, str) else model
    judged_by: dict[str, Any] = {
        "validation_metric": str(parse_metric(metric)),
        "validation_users": users,
    }
    given = {"seed": seed, **(parameters or {})}
    kind(**given, **judged_by)  # wrong parameters are refused before anything is run
    searched = _checked_space(kind, space, given)
    if trials < 1:
        raise ConfigError(f"trials={trials}: try at least one setting")
    study = _Study(kind, {**given, **judged_by}, searched, strategy, seed, prune)
    # The number of threads changes no bit, so that a search may go on with another.
    results_depend_on = {name: value for name, value in study.given.items() if name != "threads"}
    study.open(storage, _fingerprint(split, kind, results_depend_on, searched, strategy, prune))
    study.run(split, trials)
    best, table = study.result()
    found = {**given, **best.params}
    return Tuning(kind, found, float(best.value or 0.0), judged_by["validation_metric"], table)


class _Study:
    """Optuna's study of one model."""

    def __init__(
        self,
        kind: type[Model],
        given: dict[str, Any],
        space: dict[str, Search],
        strategy: Strategy,
        seed: int,
        prune: bool,
    ) -> None:
        self.kind, self.given, self.space = kind, given, space
        self.strategy, self.seed, self.prune = strategy, seed, prune

    def open(self, storage: str | os.PathLike[str] | None, name: str) -> None:
        """Make the study, or find it where it was left."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if storage is not None:
            Path(storage).parent.mkdir(parents=True, exist_ok=True)
        pruner: optuna.pruners.BasePruner = optuna.pruners.NopPruner()
        if self.prune:
            pruner = optuna.pruners.SuccessiveHalvingPruner(_FIRST_RUNG, _REDUCTION)
        self.study = optuna.create_study(
            storage=None if storage is None else f"sqlite:///{Path(storage)}",
            study_name=name,
            direction="maximize",
            pruner=pruner,
            load_if_exists=True,
        )

    def run(self, split: Split, trials: int) -> None:
        """Run what is left of the trials."""
        if self.strategy == "grid":
            trials = min(trials, len(self._grid()))
        with bar(f"tuning {self.kind.__name__}", total=trials) as progress:
            for number in range(len(self._finished()), trials):
                progress.update(number, note=self._best_so_far())
                self._run_trial(split, number)

    def _run_trial(self, split: Split, number: int) -> None:
        import optuna

        settings = self._setting(number)
        if settings is not None:
            self.study.enqueue_trial(settings)
        self.study.sampler = self._sampler(number)
        trial = self.study.ask()
        chosen = {name: _suggest(trial, name, search) for name, search in self.space.items()}
        started = time.perf_counter()
        try:
            history = self._fit(split, chosen, trial)
        except BaseException:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        trial.set_user_attr("seconds", time.perf_counter() - started)
        # What a pruned trial had reached tells the sampler more than that it was given up.
        self.study.tell(trial, float(np.nanmax([0.0, *history.validation])))

    def _fit(self, split: Split, chosen: dict[str, Any], trial: optuna.Trial) -> History:
        import optuna

        model = self.kind(**{**self.given, **chosen})
        seen = History()

        def report(history: History) -> None:
            nonlocal seen
            seen = history
            value = history.validation[-1]
            if not np.isnan(value):
                trial.report(value, step=len(history.validation))
                if trial.should_prune():
                    raise optuna.TrialPruned

        try:
            model.fit(split.train, validation=split.validation, callback=report)
        except optuna.TrialPruned:
            trial.set_user_attr(_PRUNED, True)
            return seen
        if model.history.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        return model.history

    def _setting(self, number: int) -> dict[str, Any] | None:
        """Return the setting of a trial if it does not depend on the ones before it."""
        if self.strategy == "grid":
            return self._grid()[number]
        starts = ({}, *self.kind.Config.starts)
        if number >= len(starts):
            return None
        fields = self.kind.Config.model_fields
        start = {name: field.default for name, field in fields.items()} | starts[number]
        return {name: start[name] for name in self.space}

    def _grid(self) -> list[dict[str, Any]]:
        names = list(self.space)
        values = [self.space[name].values for name in names]
        points = np.stack(np.meshgrid(*map(np.arange, map(len, values))), axis=-1)
        order = np.random.default_rng(self.seed).permutation(points.reshape(-1, len(names)))
        return [
            {
                name: values[n][index]
                for n, (name, index) in enumerate(zip(names, point, strict=True))
            }
            for point in order
        ]

    def _sampler(self, number: int) -> optuna.samplers.BaseSampler:
        import optuna

        seed = int(np.random.default_rng([self.seed, number]).integers(2**31))
        if self.strategy == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=8)

    def _finished(self) -> list[optuna.trial.FrozenTrial]:
        import optuna

        done = (optuna.trial.TrialState.COMPLETE,)
        return self.study.get_trials(deepcopy=False, states=done)

    def _best_so_far(self) -> str:
        values = [trial.value for trial in self._finished() if trial.value is not None]
        return f"best {max(values):.4f}" if values else ""

    def result(self) -> tuple[optuna.trial.FrozenTrial, pl.DataFrame]:
        """Return the best trial that was trained to its end, and a table of all."""
        finished = self._finished()
        best = max(
            (trial for trial in finished if _PRUNED not in trial.user_attrs),
            key=lambda trial: trial.value or 0.0,
        )
        rows = [
            {
                "trial": number,
                "value": trial.value,
                "state": _PRUNED if _PRUNED in trial.user_attrs else "complete",
                "seconds": trial.user_attrs["seconds"],
                **{name: trial.params[name] for name in self.space},
            }
            for number, trial in enumerate(finished)
        ]
        return best, pl.DataFrame(rows)


def _suggest(trial: optuna.Trial, name: str, search: Search) -> Any:
    values = search.values
    if all(type(value) is int for value in values):
        return trial.suggest_int(name, min(values), max(values), log=search.log)
    if all(type(value) is float for value in values):
        return trial.suggest_float(name, min(values), max(values), log=search.log)
    return trial.suggest_categorical(name, values)


def _checked_space(
    kind: type[Model], space: Mapping[str, Search] | None, given: dict[str, Any]
) -> dict[str, Search]:
    searched = search_space(kind.Config) if space is None else dict(space)
    for name in searched:
        if name not in kind.Config.model_fields:
            hint = did_you_mean(name, kind.Config.model_fields)
            raise ConfigError(f"{kind.__name__} has no parameter {name!r}; {hint}")
    return {name: search for name, search in searched.items() if name not in given}


def _fingerprint(split: Split, kind: type[Model], *settings: Any) -> str:
    """Return a name for a search: trials of another one are never mixed with its own."""
    digest = hashlib.sha256(json.dumps(settings, default=str, sort_keys=True).encode())
    for part in (split.train, split.validation):
        for array in (part.user_pointer, part.item_codes, part.values):
            digest.update(np.ascontiguousarray(array).tobytes())
    return f"{kind.__name__}-{digest.hexdigest()[:16]}"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
