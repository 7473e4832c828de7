"""Saving the state of a training run, and resuming from it with the same bits."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dmrank.support.arrays import Array
from dmrank.support.containers import read_container, write_container
from dmrank.support.errors import ConfigError
from dmrank.support.progress import say
from dmrank.training.history import History

_FORMAT = 1
_BEST = "best."


@dataclass(frozen=True)
class Saved:
    """A training run, as it was saved."""

    iteration: int
    arrays: dict[str, Array]
    best_arrays: dict[str, Array]
    best_value: float
    best_regular: float
    since_best: int
    history: History


class Checkpoint:
    """A folder in which a training run keeps its state.

    Parameters
    ----------
    folder : path
        Where; it is made if it does not exist.
    run : mapping of str to JSON value
        What identifies the run (configuration, data). A checkpoint of another run is refused.
    every_seconds : float
        Least time between two saves; the last state is always saved.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        run: Mapping[str, Any],
        every_seconds: float = 30.0,
    ) -> None:
        self.path = Path(folder) / "training.checkpoint"
        self.run = dict(run)
        self.every_seconds = every_seconds
        self._last_save = -float("inf")

    def load(self) -> Saved | None:
        """Return the saved state, or None if there is none yet."""
        if not self.path.exists():
            return None
        arrays, metadata = read_container(self.path, format_=_FORMAT)
        for name, value in self.run.items():
            if metadata["run"].get(name) != value:
                raise ConfigError(
                    f"{self.path} is a checkpoint of another run: its {name} is "
                    f"{metadata['run'].get(name)!r}, not {value!r}; use another folder or "
                    "delete the file"
                )
        return Saved(
            iteration=metadata["iteration"],
            arrays={name: a for name, a in arrays.items() if not name.startswith(_BEST)},
            # Copied, because the file is replaced while training goes on.
            best_arrays={
                name.removeprefix(_BEST): a.copy()
                for name, a in arrays.items()
                if name.startswith(_BEST)
            },
            best_value=_number(metadata["best_value"]),
            # Checkpoints of before there were early evaluations have regular ones alone.
            best_regular=_number(metadata.get("best_regular", metadata["best_value"])),
            since_best=metadata["since_best"],
            history=History(**metadata["history"]),
        )

    def save(self, state: Saved, *, last: bool) -> None:
        """Save the state, unless that was done a moment ago and it is not the last one.

        A state that cannot be written (a full disk) is reported and does not end the training;
        the last state that was written stays whole.
        """
        if not last and time.monotonic() - self._last_save < self.every_seconds:
            return
        metadata = {
            "run": self.run,
            "iteration": state.iteration,
            "best_value": _json(state.best_value),
            "best_regular": _json(state.best_regular),
            "since_best": state.since_best,
            "history": asdict(state.history),
        }
        best = {_BEST + name: array for name, array in state.best_arrays.items()}
        try:
            write_container(self.path, {**state.arrays, **best}, metadata, format_=_FORMAT)
        except OSError as error:
            say(f"checkpoint not written to {self.path}: {error}; training goes on")
        self._last_save = time.monotonic()


def _json(value: float) -> float | None:
    """Return a number as JSON has it, which knows no infinity."""
    return None if value == -float("inf") else value


def _number(value: float | None) -> float:
    return -float("inf") if value is None else value
