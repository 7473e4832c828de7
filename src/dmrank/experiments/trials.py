"""One trial of a search: which setting is tried, and what it reaches.

A trial depends on its number and on the trials that its choice may look at, and on nothing else:
neither on where it is run, nor on what runs beside it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.models import Model
from dmrank.models.config import Search, all_fields
from dmrank.training.history import INTERRUPTED, History

if TYPE_CHECKING:
    import optuna

Strategy = Literal["tpe", "grid", "random"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

#: Successive halving: of the trials that have been looked at so often, every third goes on to
#: three times as many looks, and so on.
_FIRST_RUNG: Final = 3
_REDUCTION: Final = 3
#: What a trial that was given up is marked with.
PRUNED: Final = "pruned"


@dataclass(frozen=True)
class SearchSettings:
    """What is searched, and how.

    Attributes
    ----------
    kind : type of Model
        What is tuned.
    given : dict
        Parameters that are not searched.
    space : dict of str to Search
        Where the others are looked for.
    strategy : {"tpe", "grid", "random"}
        How settings are chosen.
    seed : int
        Of the choices.
    prune : bool
        Whether trials are given up by successive halving.
    """

    kind: type[Model]
    given: dict[str, Any]
    space: dict[str, Search]
    strategy: Strategy
    seed: int
    prune: bool

    def grid(self) -> list[dict[str, Any]]:
        """Return every point of the space, in a seeded order."""
        every = product(*(search.values for search in self.space.values()))
        points = [dict(zip(self.space, point, strict=True)) for point in every]
        return [points[n] for n in np.random.default_rng(self.seed).permutation(len(points))]

    def setting(self, number: int) -> dict[str, Any] | None:
        """Return the setting of a trial if it does not depend on the ones before it."""
        if self.strategy == "grid":
            return self.grid()[number]
        starts = ({}, *self.kind.Config.starts)
        if number >= len(starts):
            return None
        fields = all_fields(self.kind.Config)
        start = {name: field.default for name, field in fields.items()} | starts[number]
        return {name: start[name] for name in self.space}

    def sampler(self, number: int) -> optuna.samplers.BaseSampler:
        """Return what chooses the setting of a trial, seeded by its number."""
        import optuna

        seed = int(np.random.default_rng([self.seed, number]).integers(2**31))
        if self.strategy == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=8)

    def pruner(self) -> optuna.pruners.BasePruner:
        """Return what gives trials up."""
        import optuna

        if self.prune:
            return optuna.pruners.SuccessiveHalvingPruner(_FIRST_RUNG, _REDUCTION)
        return optuna.pruners.NopPruner()


def run_trial(
    settings: SearchSettings,
    before: Sequence[optuna.trial.FrozenTrial],
    number: int,
    train: Ratings,
    validation: Ratings,
) -> optuna.trial.FrozenTrial:
    """Choose a setting, fit the model with it, and return what it reached.

    Parameters
    ----------
    settings : SearchSettings
        What is searched.
    before : sequence of trials
        Those that the choice, and whether the trial is given up, may depend on.
    number : int
        Which trial of the search it is.
    train, validation : Ratings
        What is learned from, and judged by.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize", sampler=settings.sampler(number), pruner=settings.pruner()
    )
    study.add_trials(before)
    fixed = settings.setting(number)
    if fixed is not None:
        study.enqueue_trial(fixed)
    trial = study.ask()
    chosen = {name: _suggest(trial, name, search) for name, search in settings.space.items()}
    started = time.perf_counter()
    history = _fit(settings.kind(**{**settings.given, **chosen}), train, validation, trial)
    trial.set_user_attr("seconds", time.perf_counter() - started)
    # What a pruned trial had reached tells the sampler more than that it was given up.
    return study.tell(trial, float(np.nanmax([0.0, *history.validation])))


def _fit(model: Model, train: Ratings, validation: Ratings, trial: optuna.Trial) -> History:
    import optuna

    every: int = getattr(model.config, "evaluate_every", 1)
    seen = History()

    def report(history: History) -> None:
        nonlocal seen
        seen = history
        value, looks = _at_regular_looks(history, every)
        if not np.isnan(value) and looks > 0:
            trial.report(value, step=looks)
            if trial.should_prune():
                raise optuna.TrialPruned

    try:
        model.fit(train, validation=validation, callback=report)
    except optuna.TrialPruned:
        trial.set_user_attr(PRUNED, True)
        return seen
    if model.history.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return model.history


def _at_regular_looks(history: History, every: int) -> tuple[float, int]:
    """Return the last value and the number of regular looks; none before the first of them.

    Early looks are no reason to give a trial up, but what one of them found is not lost.
    """
    looks = sum(iteration >= every for iteration in history.iterations)
    early = history.validation[: len(history.validation) - looks]
    return max([history.validation[-1], *early]), looks


def _suggest(trial: optuna.Trial, name: str, search: Search) -> Any:
    values = search.values
    if all(type(value) is int for value in values):
        return trial.suggest_int(name, min(values), max(values), log=search.log)
    if all(type(value) is float for value in values):
        return trial.suggest_float(name, min(values), max(values), log=search.log)
    return trial.suggest_categorical(name, values)
