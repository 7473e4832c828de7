"""Tune both sides with as many settings, test each once, and time both in turns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.originals.problem import REPEATS, Problem, difference
from dmrank.fitted.scorers import Scorer

Settings = dict[str, Any]
_TABLE = "{:<22}{:>12}{:>10}{:>10}   {}"


@dataclass(frozen=True)
class Fitted:
    """A fitted model of either side, and the seconds that its training took."""

    scorer: Scorer
    seconds: float


@dataclass(frozen=True)
class Contender:
    """One side: how it is fitted, the grid that is tried, and how fast it goes.

    `speeds` holds, by name, how one timed run is made: it returns millions of samples per second.
    """

    name: str
    fit: Callable[[Settings], Fitted]
    grid: dict[str, tuple[Any, ...]]
    speeds: dict[str, Callable[[], float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Chosen:
    """The best setting of a contender on validation."""

    settings: Settings
    fitted: Fitted
    value: float


@dataclass(frozen=True)
class Outcome:
    """What both sides chose, and the row that the documentation has of it."""

    ours: Chosen
    theirs: Chosen
    row: dict[str, str]


def trials(grid: dict[str, tuple[Any, ...]]) -> list[Settings]:
    """Return every combination of a grid."""
    return [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]


def contest(problem: Problem, ours: Contender, theirs: Contender) -> Outcome:
    """Compare quality and speed, and print both."""
    print(_TABLE.format("NDCG@10", "validation", "test", "seconds", "chosen on validation"))
    chosen, per_user, tests = [], [], []
    for side in (ours, theirs):
        best = _tuned(problem, side)
        chosen.append(best)
        per_user.append(problem.test_values(best.fitted.scorer))
        value, test = f"{best.value:.4f}", f"{np.nanmean(per_user[-1]):.4f}"
        tests.append(test.removeprefix("0"))
        seconds = f"{best.fitted.seconds:.1f}"
        count = len(trials(side.grid))
        print(_TABLE.format(side.name, value, test, seconds, f"{best.settings} of {count}"))
    ahead = difference(*per_user)
    print(f"ours − theirs on test: {ahead}", flush=True)
    speeds = _speeds({**ours.speeds, **theirs.speeds})
    *_, our_speed, their_speed = speeds.values()
    row = {
        "settings tried": f"{len(trials(ours.grid))} and {len(trials(theirs.grid))}",
        "NDCG@10, ours / theirs": " / ".join(tests),
        "difference, 95 % interval": ahead,
        "million samples/s, ours / theirs": f"{our_speed:.2f} / {their_speed:.3f}",
        "ratio": f"{our_speed / their_speed:.1f}×",
        "one thread of ours": f"{next(iter(speeds.values())):.2f}",
        "seconds of a fit, ours / theirs": " / ".join(f"{c.fitted.seconds:.1f}" for c in chosen),
    }
    return Outcome(*chosen, row)


def _tuned(problem: Problem, side: Contender) -> Chosen:
    tried = []
    for settings in trials(side.grid):
        fitted = side.fit(settings)
        tried.append(Chosen(settings, fitted, problem.on_validation(fitted.scorer)))
    return max(tried, key=lambda one: one.value)


def _speeds(speeds: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Time everything in turns; the last one is what the others are compared with."""
    runs: dict[str, list[float]] = {name: [] for name in speeds}
    for _ in range(REPEATS):
        for name, run in speeds.items():
            runs[name].append(run())
    medians = {name: float(np.median(each)) for name, each in runs.items()}
    peer = list(medians.values())[-1]
    print(_TABLE.format("million samples/s", "median", "ratio", "", "each"))
    for name, median in medians.items():
        each = ", ".join(f"{speed:.2f}" for speed in runs[name])
        print(_TABLE.format(name, f"{median:.2f}", f"{median / peer:.1f}×", "", each), flush=True)
    return medians
