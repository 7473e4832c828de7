"""Models that are trained in iterations: early stopping, checkpoints and progress, once for all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from dmrank.fitted.fitting import Fitting
from dmrank.models.base import Model
from dmrank.models.config import TrainingConfig
from dmrank.support.arrays import Array, Arrays
from dmrank.training.checkpoints import Checkpoint
from dmrank.training.loop import RunIterations, Schedule, train


class TrainedModel(Model):
    """A model whose `learn` ends with `_train`."""

    config: TrainingConfig

    def _train(
        self,
        fitting: Fitting,
        run: RunIterations,
        parameters: Arrays,
        state: Arrays,
        *,
        learned: Callable[[], dict[str, Array]] | None = None,
        samples_per_iteration: int = 0,
        keep_last: bool = False,
    ) -> None:
        """Run iterations, and put the best that was learned into `self.arrays`.

        Parameters
        ----------
        fitting : Fitting
            What to learn from.
        run, parameters, state, samples_per_iteration, keep_last
            See `training.loop.train`.
        learned : callable, optional
            Makes the arrays that the model ranks with from the current parameters; by default
            these are the parameters themselves.
        """
        take = learned or (lambda: dict(parameters))

        def evaluate() -> float:
            self.arrays = take()
            return self.validation_value(fitting)

        self.history = train(
            run,
            parameters,
            state,
            self._schedule(fitting),
            evaluate=None if fitting.validator is None else evaluate,
            checkpoint=self._checkpoint(fitting),
            callback=fitting.callback,
            title=type(self).__name__,
            samples_per_iteration=samples_per_iteration,
            keep_last=keep_last,
        )
        self.arrays = take()

    def settled(self) -> dict[str, Any]:
        if not self.history.iterations or np.isnan(self.history.validation).all():
            return {}
        return {"iterations": self.history.best_iteration}

    def _schedule(self, fitting: Fitting) -> Schedule:  # noqa: ARG002
        """Return how long to train, and when to look at validation."""
        config = self.config
        return Schedule(config.iterations, config.evaluate_every, config.patience)

    def _checkpoint(self, fitting: Fitting) -> Checkpoint | None:
        folder, ratings = fitting.checkpoint, fitting.ratings
        if folder is None:
            return None
        digest = hashlib.sha256()
        ratings.update_digest(digest)
        # The number of threads changes no bit, so that a run may go on with another.
        run = self.config.model_dump(mode="json", exclude={"threads"})
        run = {"model": type(self).__name__, **run, "training ratings": digest.hexdigest()}
        if fitting.warm_start is not None:
            run["start"] = fitting.warm_start.fingerprint
        return Checkpoint(folder, run)
