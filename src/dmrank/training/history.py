"""What happened during training."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from dmrank.support.plots import figure, save

#: Why training ended if somebody pressed Ctrl-C.
INTERRUPTED = "interrupted"


@dataclass
class History:
    """Objective and validation value at each evaluation.

    Attributes
    ----------
    iterations : list of int
        When each evaluation took place.
    objective : list of float
        Mean objective of the iterations since the evaluation before.
    validation : list of float
        Validation value; NaN if there was no validation set.
    stopped : str
        Why training ended before its last iteration; "" if it did not.

    Examples
    --------
    >>> history = History()
    >>> history.add(100, -5.0, 0.1)
    >>> history.add(200, -4.0, 0.2)
    >>> history
    History(200 iterations, objective -4.000, best validation 0.2000 at 200)
    """

    iterations: list[int] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    stopped: str = ""

    def add(self, iteration: int, objective: float, validation: float) -> None:
        """Add one evaluation."""
        self.iterations.append(iteration)
        self.objective.append(objective)
        self.validation.append(validation)

    @property
    def best_iteration(self) -> int:
        """The iteration with the best validation value, or the last one without validation.

        Examples
        --------
        >>> history = History()
        >>> history.add(100, -5.0, 0.3)
        >>> history.add(200, -4.0, 0.2)
        >>> history.best_iteration
        100
        """
        if not self.iterations:
            return 0
        if np.isnan(self.validation).all():
            return self.iterations[-1]
        return self.iterations[int(np.nanargmax(self.validation))]

    def to_polars(self) -> pl.DataFrame:
        """Return one row per evaluation.

        Examples
        --------
        >>> history = History()
        >>> history.add(100, -5.0, 0.1)
        >>> history.to_polars().row(0)
        (100, -5.0, 0.1)
        """
        return pl.DataFrame(
            {
                "iteration": self.iterations,
                "objective": self.objective,
                "validation": self.validation,
            },
            schema={"iteration": pl.Int64, "objective": pl.Float64, "validation": pl.Float64},
        )

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw objective and validation value over the iterations, into a png, svg or pdf file."""
        validated = bool(self.validation) and not np.isnan(self.validation).all()
        with figure(9 if validated else 5, 3.2) as drawn:
            panels = drawn.subplots(1, 2 if validated else 1, squeeze=False)[0]
            panels[0].plot(self.iterations, self.objective)
            panels[0].set(title="Objective", xlabel="iteration", ylabel="mean per pair")
            if validated:
                best = self.best_iteration
                panels[1].plot(self.iterations, self.validation, color="C2")
                panels[1].axvline(best, color="0.6", linestyle=":", zorder=0)
                panels[1].set(title=f"Validation (best at {best:,})", xlabel="iteration")
            for axes in panels:
                axes.grid(axis="y", alpha=0.25)
            return save(drawn, path)

    def summary(self) -> str:
        """Say in a few words how training went; "" if there is nothing to say.

        Examples
        --------
        >>> learned_in_one_step = History()
        >>> learned_in_one_step.add(1, float("nan"), 0.2)
        >>> learned_in_one_step.summary()
        'validation 0.2000'
        """
        parts: list[str] = []
        is_validated = bool(self.validation) and not np.isnan(self.validation).all()
        if self.iterations and self.iterations[-1] > 1:
            parts.append(f"{self.iterations[-1]:,} iterations")
        if self.objective and not np.isnan(self.objective[-1]):
            parts.append(f"objective {self.objective[-1]:.3f}")
        if is_validated and self.iterations[-1] > 1:
            best = np.nanmax(self.validation)
            parts.append(f"best validation {best:.4f} at {self.best_iteration:,}")
        elif is_validated:
            parts.append(f"validation {self.validation[-1]:.4f}")
        if self.stopped:
            parts.append(self.stopped)
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"History({self.summary() or 'no evaluation'})"
