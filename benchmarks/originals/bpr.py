"""M-BPR with one aspect beside implicit's BPR, which is fast but not reproducible with threads.

Besides quality and samples per second: how long ours takes to the validation value that implicit's
best setting ends with, against how long implicit took.
"""

from __future__ import annotations

import time

from implicit.cpu.bpr import BayesianPersonalizedRanking

import dmrank
from benchmarks.originals.contest import Chosen, Contender, Fitted, Settings, contest
from benchmarks.originals.problem import THREADS, Problem
from dmrank.fitted.scorers import Vectors

FACTORS = 10
SCHEDULE = (60, 125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)


def compare(problem: Problem) -> dict[str, str]:
    fit_ours(problem, {"iterations": 100, "regularization": 0.01})  # compiles

    def our_speed(threads: int) -> float:
        model = dmrank.MBPR(factors=FACTORS, hard_negatives=1, iterations=2_000, threads=threads)
        started = time.perf_counter()
        model.fit(problem.overall_only)
        return 2_000 * model.config.batch_size / (time.perf_counter() - started) / 1e6

    def their_speed() -> float:
        fitted = fit_theirs(problem, {"iterations": 50, "learning_rate": 0.01})
        return 50 * problem.matrix.nnz / fitted.seconds / 1e6

    outcome = contest(
        problem,
        Contender(
            "dmrank",
            lambda settings: fit_ours(problem, settings),
            {"iterations": (2_000, 8_000, 32_000), "regularization": (0.01, 0.03)},
            {
                "dmrank, 1 thread": lambda: our_speed(1),
                f"dmrank, {THREADS} threads": lambda: our_speed(THREADS),
            },
        ),
        Contender(
            "implicit",
            lambda settings: fit_theirs(problem, settings),
            {"iterations": (100, 400), "learning_rate": (0.003, 0.01, 0.03)},
            {f"implicit, {THREADS} threads": their_speed},
        ),
    )
    reached = _time_to(problem, outcome.ours.settings["regularization"], outcome.theirs)
    print(f"to implicit's validation value {outcome.theirs.value:.4f}: {reached}")
    return outcome.row | {"seconds to their validation value": reached}


def fit_ours(problem: Problem, settings: Settings) -> Fitted:
    model = dmrank.MBPR(factors=FACTORS, hard_negatives=1, threads=THREADS, **settings)
    started = time.perf_counter()
    model.fit(problem.overall_only)
    seconds = time.perf_counter() - started
    return Fitted(model.scorer(model.weights(None)), seconds)


def fit_theirs(problem: Problem, settings: Settings) -> Fitted:
    model = BayesianPersonalizedRanking(
        factors=FACTORS, num_threads=THREADS, random_state=0, **settings
    )
    matrix = problem.matrix
    started = time.perf_counter()
    model.fit(matrix, show_progress=False)
    seconds = time.perf_counter() - started
    return Fitted(Vectors(model.user_factors, model.item_factors), seconds)


def _time_to(problem: Problem, regularization: float, theirs: Chosen) -> str:
    """Return the seconds of ours and of theirs until their validation value was there."""
    for iterations in SCHEDULE:
        settings = {"iterations": iterations, "regularization": regularization}
        fitted = fit_ours(problem, settings)
        if problem.on_validation(fitted.scorer) >= theirs.value:
            return f"{fitted.seconds:.2f} / {theirs.fitted.seconds:.2f}"
    return "not reached"
