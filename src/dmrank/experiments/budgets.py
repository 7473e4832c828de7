"""How much work a run of the paper's experiments may be."""

from __future__ import annotations

from dataclasses import dataclass

from dmrank.support.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class Budget:
    """What is spent on tuning and training, the same for every model.

    Attributes
    ----------
    trials : int
        Settings that are tried for each model.
    tuning_rows : int or None
        The most training rows to tune on; more are cut to those of randomly drawn users. Final
        models always see everything.
    finalists : int
        Where models were tuned on some users only, so many of the best settings of each are
        fitted on everything, and the best on validation is taken: what suits few users may not
        suit many.
    tuning_patience : int
        Looks without improvement after which a trial stops.
    iterations : float
        Share of each model's own number of iterations.
    margins : tuple of float
        Where Figure 5 looks.
    seeds : int
        How often each model is trained, unless the caller says otherwise.
    """

    trials: int
    tuning_rows: int | None
    finalists: int
    tuning_patience: int
    iterations: float
    margins: tuple[float, ...]
    seeds: int


BUDGETS = {
    "quick": Budget(
        trials=3,
        tuning_rows=30_000,
        finalists=1,
        tuning_patience=2,
        iterations=0.15,
        margins=(0.0, 0.2, 1.0, 2.0),
        seeds=1,
    ),
    "standard": Budget(
        trials=10,
        tuning_rows=50_000,
        finalists=3,
        tuning_patience=4,
        iterations=1.0,
        margins=(0.0, 0.1, 0.2, 0.5, 1.0, 2.0),
        seeds=1,
    ),
    "full": Budget(
        trials=30,
        tuning_rows=None,
        finalists=1,
        tuning_patience=10,
        iterations=1.0,
        margins=(0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0),
        seeds=5,
    ),
}


def find_budget(name: str) -> Budget:
    """Return a budget by its name.

    Examples
    --------
    >>> find_budget("quick").trials
    3
    """
    if name not in BUDGETS:
        raise ConfigError(f"there is no budget {name!r}; {did_you_mean(name, BUDGETS)}")
    return BUDGETS[name]
