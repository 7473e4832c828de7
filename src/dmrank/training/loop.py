"""The loop around the iterations: evaluation, early stopping, checkpoints, history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dmrank.support.arrays import Array, Arrays, Floats
from dmrank.support.progress import bar, say
from dmrank.training.checkpoints import Checkpoint, Saved
from dmrank.training.history import INTERRUPTED, History

#: Runs `count` iterations from `first` on, in place; returns the objective of each.
RunIterations = Callable[[int, int], Floats]


@dataclass(frozen=True)
class Schedule:
    """How long to train.

    Parameters
    ----------
    iterations : int
        The most iterations.
    evaluate_every : int
        Iterations between two evaluations.
    patience : int
        Evaluations without a better one after which training stops.
    first_look : int or None
        The iteration of an early evaluation, before the regular ones; others follow at twice as
        many iterations each. What few ratings teach is learned and unlearned before the first
        regular evaluation. Patience knows regular ones alone: early ones change what is kept, not
        how long training is.
    """

    iterations: int
    evaluate_every: int
    patience: int
    first_look: int | None = None

    def next_look(self, iteration: int) -> int:
        """Return when the next evaluation is, after so many iterations.

        Examples
        --------
        >>> schedule, looks = Schedule(1_200, 500, patience=10, first_look=100), [0]
        >>> while looks[-1] < 1_200:
        ...     looks.append(schedule.next_look(looks[-1]))
        >>> looks
        [0, 100, 200, 400, 500, 1000, 1200]
        """
        early = self.first_look
        while early is not None and early <= iteration:
            early *= 2
        regular = (iteration // self.evaluate_every + 1) * self.evaluate_every
        if early is None or iteration >= self.evaluate_every:
            early = regular
        return min(early, regular, self.iterations)

    def is_regular(self, iteration: int) -> bool:
        """Return whether an evaluation counts for patience."""
        return self.first_look is None or iteration >= self.evaluate_every


@dataclass
class _Best:
    """The parameters with the best validation value so far.

    Attributes
    ----------
    value, regular : float
        The best value of all evaluations, and of the regular ones.
    since : int
        Regular evaluations since the best of them.
    arrays : dict of str to array
        The parameters that had the best value of all.
    """

    value: float = -np.inf
    regular: float = -np.inf
    since: int = 0
    arrays: dict[str, Array] = field(default_factory=dict)

    def offer(self, value: float, parameters: Arrays, *, is_regular: bool) -> None:
        if value > self.value:
            self.value = value
            self.keep(parameters)
        if is_regular and value > self.regular:
            self.regular, self.since = value, 0
        elif is_regular:
            self.since += 1

    def keep(self, parameters: Arrays) -> None:
        self.arrays = {name: array.copy() for name, array in parameters.items()}

    def restore(self, parameters: Arrays) -> None:
        for name, array in self.arrays.items():
            parameters[name][...] = array


def train(
    run: RunIterations,
    parameters: Arrays,
    state: Arrays,
    schedule: Schedule,
    *,
    evaluate: Callable[[], float] | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callable[[History], None] | None = None,
    title: str = "training",
    samples_per_iteration: int = 0,
    keep_last: bool = False,
) -> History:
    """Run iterations until they are done, nothing improves, or somebody interrupts.

    The parameters end as the best ones that `evaluate` saw, or without it as the last ones. An
    interrupt (Ctrl-C) or an objective that is not finite stops training and keeps what was best
    before; the history says so.

    Parameters
    ----------
    run : callable
        Runs iterations in place.
    parameters : mapping of str to array
        What is learned; changed in place.
    state : mapping of str to array
        What else the iterations change (sums of squared gradients).
    schedule : Schedule
        How long to train.
    evaluate : callable, optional
        Returns the validation value of the current parameters; the higher the better.
    checkpoint : Checkpoint, optional
        Where to save, and to resume from.
    callback : callable, optional
        Called with the history after each evaluation; what it raises ends the training.
    title : str
        What the progress bar says.
    samples_per_iteration : int
        For the speed that the progress bar shows.
    keep_last : bool
        End with the last parameters, whatever `evaluate` says of them: for what converges.
    """
    history, best, first = History(), _Best(), 0
    if checkpoint is not None and (saved := checkpoint.load(parameters, state)) is not None:
        first, history = saved.iteration, saved.history
        for name, array in {**parameters, **state}.items():
            array[...] = saved.arrays[name]
        best = _Best(saved.best_value, saved.best_regular, saved.since_best, saved.best_arrays)
        say(f"resumed at iteration {first:,}")
    if not best.arrays:
        best.keep(parameters)
    try:
        with bar(title, total=schedule.iterations) as progress:
            while first < schedule.iterations and best.since < schedule.patience:
                count = schedule.next_look(first) - first
                started = time.perf_counter()
                objective = _mean(run(first, count))
                seconds = time.perf_counter() - started
                if not _finite(objective, parameters):
                    history.stopped = "the objective is no longer finite: try a lower learning_rate"
                    say(f"{title} stopped at iteration {first + count:,}: {history.stopped}")
                    break
                first += count
                value = float("nan") if evaluate is None else evaluate()
                history.add(first, objective, value)
                if evaluate is None or keep_last:
                    best.keep(parameters)
                else:
                    best.offer(value, parameters, is_regular=schedule.is_regular(first))
                if checkpoint is not None:
                    checkpoint.save(
                        Saved(
                            first,
                            {**parameters, **state},
                            best.arrays,
                            best.value,
                            best.regular,
                            best.since,
                            history,
                        ),
                        last=first >= schedule.iterations or best.since >= schedule.patience,
                    )
                speed = samples_per_iteration * count / max(seconds, 1e-9)
                if callback is not None:
                    callback(history)
                progress.update(first, note=_note(objective, value, speed))
            else:
                if first < schedule.iterations:
                    history.stopped = "the validation value stopped improving"
    except KeyboardInterrupt:
        history.stopped = INTERRUPTED
        say(f"{title} interrupted: the best parameters so far are kept")
    best.restore(parameters)
    return history


def _mean(objectives: Floats) -> float:
    seen = objectives[~np.isnan(objectives)]
    return float(seen.mean()) if len(seen) else 0.0


def _finite(objective: float, parameters: Arrays) -> bool:
    return bool(np.isfinite(objective)) and all(
        bool(np.isfinite(array).all()) for array in parameters.values()
    )


def _note(objective: float, value: float, speed: float) -> str:
    parts = [f"objective {objective:.3f}"]
    if not np.isnan(value):
        parts.append(f"validation {value:.4f}")
    if speed:
        parts.append(f"{speed / 1e6:.2f} M samples/s")
    return " · ".join(parts)
