"""Saving the state of a training run, and resuming from it with the same bits."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, NonNegativeInt, model_validator

from dmrank.support.arrays import Array, Arrays
from dmrank.support.containers import read_container, write_container
from dmrank.support.errors import ConfigError, ModelFileError
from dmrank.support.layouts import Kept, checked_arrays
from dmrank.support.metadata import Metadata
from dmrank.support.progress import say
from dmrank.training.history import History

_BEST = "best."


class _HistoryMetadata(BaseModel):
    """The history of a run."""

    model_config = ConfigDict(strict=True)

    iterations: list[int]
    objective: list[float]
    validation: list[float]
    stopped: str

    @model_validator(mode="after")
    def _same_lengths(self) -> Self:
        if not len(self.iterations) == len(self.objective) == len(self.validation):
            raise ValueError("its lists are not of one length")
        return self


class CheckpointMetadata(Metadata):
    """What the header of a checkpoint says."""

    content: ClassVar[str] = "a checkpoint"

    run: dict[str, Any]
    iteration: NonNegativeInt
    best_value: float | None
    best_regular: float | None = None
    since_best: NonNegativeInt
    #: What is trained; checkpoints of before it was noted have None.
    parameters: list[str] | None = None
    history: _HistoryMetadata


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

    def load(self, parameters: Arrays, state: Arrays) -> Saved | None:
        """Return the saved state, or None if there is none yet.

        Parameters
        ----------
        parameters, state : mappings of str to array
            What the run changes: a checkpoint has the same arrays, and no others.
        """
        if not self.path.exists():
            return None
        container = read_container(self.path, content="checkpoint")
        about = CheckpointMetadata.read(container.metadata, self.path)
        for name, value in self.run.items():
            if about.run.get(name) != value:
                raise ConfigError(
                    f"{self.path} is a checkpoint of another run: its {name} is "
                    f"{about.run.get(name)!r}, not {value!r}; use another folder or "
                    "delete the file"
                )
        arrays = checked_arrays(container.arrays, _layout(parameters, state), self.path)
        # Checkpoints of before there were early evaluations have regular ones alone.
        older = "best_regular" not in about.model_fields_set
        return Saved(
            iteration=about.iteration,
            arrays={name: arrays[name] for name in (*parameters, *state)},
            # Copied, because the file is replaced while training goes on.
            best_arrays={name: arrays[_BEST + name].copy() for name in parameters},
            best_value=_number(about.best_value),
            best_regular=_number(about.best_value if older else about.best_regular),
            since_best=about.since_best,
            history=History(**about.history.model_dump()),
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
            "parameters": sorted(state.best_arrays),
            "history": asdict(state.history),
        }
        best = {_BEST + name: array for name, array in state.best_arrays.items()}
        try:
            write_container(self.path, {**state.arrays, **best}, metadata, content="checkpoint")
        except OSError as error:
            say(f"checkpoint not written to {self.path}: {error}; training goes on")
        self._last_save = time.monotonic()


def check_checkpoint(path: str | os.PathLike[str]) -> CheckpointMetadata:
    """Check what can be known of a checkpoint without the run that it is of."""
    container = read_container(path, content="checkpoint")
    about = CheckpointMetadata.read(container.metadata, path)
    best = {
        name.removeprefix(_BEST): array
        for name, array in container.unchecked.items()
        if name.startswith(_BEST)
    }
    if lost := set(about.parameters or []) - best.keys():
        raise ModelFileError(f"{path} is damaged: it lacks the array {_BEST + min(lost)!r}")
    state = container.unchecked.keys() - {name for own in best for name in (own, _BEST + own)}
    others = {name: container.unchecked[name] for name in state}
    checked_arrays(container.arrays, _layout(best, others), path).make_all()
    return about


def _layout(parameters: Arrays, state: Arrays) -> dict[str, Kept | None]:
    """Return what the arrays of a checkpoint of these must be."""
    return {
        **{name: _like(array) for name, array in parameters.items()},
        **{_BEST + name: _like(array) for name, array in parameters.items()},
        # Sums of squares may have become infinite, which ends nothing.
        **{name: replace(_like(array), finite=False) for name, array in state.items()},
    }


def _like(array: Array) -> Kept:
    return Kept(array.dtype.type, array.shape)


def _json(value: float) -> float | None:
    """Return a number as JSON has it, which knows no infinity."""
    return None if value == -float("inf") else value


def _number(value: float | None) -> float:
    return -float("inf") if value is None else value
