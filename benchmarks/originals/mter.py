"""MTER beside Cornac's.

An aspect rating r becomes the sentiment that Cornac's own 1 + 4/(1 + e^−s) maps back to r, or to
4.9 and 1.1 at the ends of the scale: both factorize the same tensor. Cornac's further tensors of
opinion words are there, with one word. A sample is a rating or a pair.
"""

from __future__ import annotations

import time
from typing import Any

import cornac
import numpy as np

import dmrank
from benchmarks.originals.contest import Contender, Fitted, Settings, contest
from benchmarks.originals.problem import THREADS, Problem, by_our_codes
from dmrank.fitted.scorers import Vectors

MOST_SENTIMENT = 3.7
THEIR_ITERATIONS, TIMED_ITERATIONS = 5_000, 300


def sentiment(rating: float) -> float:
    with np.errstate(divide="ignore"):
        logit = np.log(rating - 1) - np.log(5 - rating)
    return float(np.clip(logit, -MOST_SENTIMENT, MOST_SENTIMENT))


def compare(problem: Problem) -> dict[str, str]:
    data = problem.for_cornac(sentiment)
    known = float((~np.isnan(problem.train.values)).sum() / len(problem.train))
    fixed = {"iterations": TIMED_ITERATIONS, "evaluate_every": TIMED_ITERATIONS}
    OurTimed(**fixed).fit(problem.train)  # compiles

    def our_speed(threads: int) -> float:
        model = OurTimed(**fixed, threads=threads).fit(problem.train)
        samples = TIMED_ITERATIONS * model.config.batch_size * (known + 1)
        return samples / model.seconds / 1e6

    def their_speed() -> float:
        model = TheirTimed(max_iter=TIMED_ITERATIONS, n_threads=THREADS)
        model.fit(data)
        samples = TIMED_ITERATIONS * (model.n_bpr_samples + 3 * model.n_element_samples)
        return samples / model.seconds / 1e6

    outcome = contest(
        problem,
        Contender(
            "dmrank",
            lambda settings: fit_ours(problem, settings),
            {"regularization": (0.01, 0.03), "ranking_weight": (10.0, 30.0)},
            {
                "dmrank, 1 thread": lambda: our_speed(1),
                f"dmrank, {THREADS} threads": lambda: our_speed(THREADS),
            },
        ),
        Contender(
            "Cornac",
            lambda settings: fit_theirs(problem, data, settings),
            {"lr": (0.1, 0.3), "lambda_bpr": (10, 30)},
            {f"Cornac, {THREADS} threads": their_speed},
        ),
    )
    return outcome.row


def fit_ours(problem: Problem, settings: Settings) -> Fitted:
    model = dmrank.MTER(threads=THREADS, **settings)
    started = time.perf_counter()
    model.fit(problem.train, validation=problem.split.validation)
    seconds = time.perf_counter() - started
    return Fitted(model.scorer(model.weights(None)), seconds)


def fit_theirs(problem: Problem, data: Any, settings: Settings) -> Fitted:
    model = cornac.models.MTER(max_iter=THEIR_ITERATIONS, n_threads=THREADS, **settings)
    started = time.perf_counter()
    model.fit(data)
    seconds = time.perf_counter() - started
    train = problem.train
    # Its last aspect is the overall rating.
    users = by_our_codes(model.U @ (model.G1 @ model.A[-1]), data.uid_map, len(train.users))
    return Fitted(Vectors(users, by_our_codes(model.I, data.iid_map, len(train.items))), seconds)


class OurTimed(dmrank.MTER):
    """Takes the time of its iterations, without preparing data or calibrating."""

    seconds = 0.0

    def _train(self, fitting: Any, run: Any, *arguments: Any, **options: Any) -> None:
        def timed(first: int, count: int) -> Any:
            started = time.perf_counter()
            objectives = run(first, count)
            self.seconds += time.perf_counter() - started
            return objectives

        super()._train(fitting, timed, *arguments, **options)


class TheirTimed(cornac.models.MTER):
    """Takes the time of its iterations, without preparing data."""

    seconds = 0.0

    def _fit_mter(self, *arguments: Any) -> Any:
        started = time.perf_counter()
        result = super()._fit_mter(*arguments)
        self.seconds += time.perf_counter() - started
        return result
