"""A search for good parameters: Optuna's study of one model, trial by trial or several at a time.

Where to look is declared beside each parameter (`models.config.Search`). Every trial is seeded by
its number, so that a search that was cut off and resumed ends like one that was not.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dmrank.data.ratings import Ratings
from dmrank.experiments.trials import PRUNED, SearchSettings, run_trial
from dmrank.support.errors import ConfigError
from dmrank.support.progress import bar
from dmrank.support.targets import check_target
from dmrank.support.workers import run_in_order, shared

if TYPE_CHECKING:
    import optuna

#: What reading trials raises if the content of their file is not what was written.
_OF_DAMAGED_TRIALS = (ValueError, LookupError, TypeError, RuntimeError)


class ParameterSearch:
    """Tries settings of one model, each on training ratings judged by validation ratings.

    Parameters
    ----------
    settings : SearchSettings
        What is searched, and how.
    width : int
        How many settings are chosen at a time: those of one round know nothing of each other, and
        may be tried at the same time.
    """

    def __init__(self, settings: SearchSettings, width: int) -> None:
        self.settings, self.width = settings, width

    def open(self, storage: str | os.PathLike[str] | None, name: str) -> None:
        """Make the study, or find it where it was left."""
        import optuna
        from sqlalchemy.exc import SQLAlchemyError

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if storage is not None:
            check_target(Path(storage))
            Path(storage).parent.mkdir(parents=True, exist_ok=True)
            _check_database(Path(storage))
        try:
            self.study = optuna.create_study(
                storage=None if storage is None else _database(Path(storage)),
                study_name=name,
                direction="maximize",
                load_if_exists=True,
            )
            _check_trials(self._finished(), self.settings.space)
        except (SQLAlchemyError, optuna.exceptions.OptunaError, *_OF_DAMAGED_TRIALS):
            raise _no_trials(storage) from None

    def run(self, train: Ratings, validation: Ratings, trials: int) -> None:
        """Run what is left of the trials."""
        if self.settings.strategy == "grid":
            trials = min(trials, len(self.settings.grid()))
        parts = shared(train), shared(validation)
        with bar(f"tuning {self.settings.kind.__name__}", total=trials) as progress:
            while (done := len(self._finished())) < trials:
                # Of a round that was cut off, the rest is chosen as it would have been.
                first = done // self.width * self.width
                before = self._finished()[:first]
                numbers = range(done, min(first + self.width, trials))
                calls = ((self.settings, before, number, *parts) for number in numbers)
                for number, trial in zip(numbers, run_in_order(run_trial, calls), strict=True):
                    self.study.add_trial(trial)
                    progress.update(number + 1, note=self._best_so_far())

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
            (trial for trial in finished if PRUNED not in trial.user_attrs),
            key=lambda trial: trial.value or 0.0,
        )
        rows = [
            {
                "trial": number,
                "value": trial.value,
                "state": PRUNED if PRUNED in trial.user_attrs else "complete",
                "seconds": trial.user_attrs["seconds"],
                **{name: trial.params[name] for name in self.settings.space},
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
    """Refuse a file that is no database, whose pages are damaged, or whose tables do not agree."""
    if not path.exists():
        return
    try:
        # Not read-only: what a killed search has left half done is first undone.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)) as database:
            found = database.execute("PRAGMA quick_check").fetchone()
            # Parameters of trials that are gone would be in the way of new ones.
            orphan = database.execute("PRAGMA foreign_key_check").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):  # its own error may quote damaged text
        found = orphan = None
    if found != ("ok",) or orphan is not None:
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
