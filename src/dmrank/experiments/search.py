"""A search for good parameters: Optuna's study of one model.

Where to look is declared beside each parameter (`models.config.Search`). Every trial is seeded by
its number, so that a search that was cut off and resumed ends like one that was not.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from dmrank.data.ratings import Ratings
from dmrank.models import Model
from dmrank.models.config import Search, all_fields
from dmrank.support.errors import ConfigError
from dmrank.support.progress import bar
from dmrank.support.targets import check_target
from dmrank.training.history import INTERRUPTED, History

if TYPE_CHECKING:
    import optuna

Strategy = Literal["tpe", "grid", "random"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

#: Successive halving: of the trials that have been looked at so often, every third goes on to
#: three times as many looks, and so on.
_FIRST_RUNG = 3
_REDUCTION = 3
_PRUNED = "pruned"
#: What reading trials raises if the content of their file is not what was written.
_OF_DAMAGED_TRIALS = (ValueError, LookupError, TypeError, RuntimeError)


class ParameterSearch:
    """Tries settings of one model, each on training ratings judged by validation ratings.

    Parameters
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
        from sqlalchemy.exc import SQLAlchemyError

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if storage is not None:
            check_target(Path(storage))
            Path(storage).parent.mkdir(parents=True, exist_ok=True)
            _check_database(Path(storage))
        pruner: optuna.pruners.BasePruner = optuna.pruners.NopPruner()
        if self.prune:
            pruner = optuna.pruners.SuccessiveHalvingPruner(_FIRST_RUNG, _REDUCTION)
        try:
            self.study = optuna.create_study(
                storage=None if storage is None else _database(Path(storage)),
                study_name=name,
                direction="maximize",
                pruner=pruner,
                load_if_exists=True,
            )
            _check_trials(self._finished(), self.space)
        except (SQLAlchemyError, optuna.exceptions.OptunaError, *_OF_DAMAGED_TRIALS):
            raise _no_trials(storage) from None

    def run(self, train: Ratings, validation: Ratings, trials: int) -> None:
        """Run what is left of the trials."""
        if self.strategy == "grid":
            trials = min(trials, len(self._grid()))
        with bar(f"tuning {self.kind.__name__}", total=trials) as progress:
            for number in range(len(self._finished()), trials):
                progress.update(number, note=self._best_so_far())
                self._run_trial(train, validation, number)

    def _run_trial(self, train: Ratings, validation: Ratings, number: int) -> None:
        import optuna

        settings = self._setting(number)
        if settings is not None:
            self.study.enqueue_trial(settings)
        self.study.sampler = self._sampler(number)
        trial = self.study.ask()
        chosen = {name: _suggest(trial, name, search) for name, search in self.space.items()}
        started = time.perf_counter()
        try:
            history = self._fit(train, validation, chosen, trial)
        except BaseException:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        trial.set_user_attr("seconds", time.perf_counter() - started)
        # What a pruned trial had reached tells the sampler more than that it was given up.
        self.study.tell(trial, float(np.nanmax([0.0, *history.validation])))

    def _fit(
        self, train: Ratings, validation: Ratings, chosen: dict[str, Any], trial: optuna.Trial
    ) -> History:
        import optuna

        model = self.kind(**{**self.given, **chosen})
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
        fields = all_fields(self.kind.Config)
        start = {name: field.default for name, field in fields.items()} | starts[number]
        return {name: start[name] for name in self.space}

    def _grid(self) -> list[dict[str, Any]]:
        every = product(*(search.values for search in self.space.values()))
        points = [dict(zip(self.space, point, strict=True)) for point in every]
        return [points[n] for n in np.random.default_rng(self.seed).permutation(len(points))]

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


def _database(file: Path) -> optuna.storages.RDBStorage:
    """Open a SQLite file, which may be called what an address cannot say: `a?b.db`."""
    import optuna

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(file, check_same_thread=False)

    return optuna.storages.RDBStorage("sqlite:///file", engine_kwargs={"creator": connect})


def _check_database(path: Path) -> None:
    """Refuse a file that is no database, or whose pages are damaged."""
    if not path.exists():
        return
    try:
        # Not read-only: what a killed search has left half done is first undone.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)) as database:
            found = database.execute("PRAGMA quick_check").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):  # its own error may quote damaged text
        found = None
    if found != ("ok",):
        raise _no_trials(path)


def _check_trials(finished: list[optuna.trial.FrozenTrial], space: Collection[str]) -> None:
    """Look at all that is later read of trials, which fails if a file does not have it."""
    for trial in finished:
        if not np.isfinite([trial.value, trial.user_attrs["seconds"]]).all():
            raise ValueError
        if trial.params.keys() != set(space):
            raise ValueError


def _no_trials(storage: str | os.PathLike[str] | None) -> ConfigError:
    return ConfigError(
        f"{storage} cannot be read as a file of trials: delete it to search anew, or name another"
    )


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
