"""EFM beside Cornac's.

An aspect rating r becomes the sentiment (r − 3)/2, so that both count the same mentions and Cornac
computes the quality that ours calls "sentiment" (or that without the number of ratings). Cornac
weighs norms by the number of ratings of a row, ours does not: its grid lies lower. All stop early
on validation.
"""

from __future__ import annotations

import time
from typing import Any

import cornac
import numpy as np
from numpy.typing import NDArray

import dmrank
from benchmarks.originals.contest import Contender, Fitted, Settings, contest
from benchmarks.originals.problem import THREADS, Problem
from dmrank.fitted.scorers import Blocks

#: The same for both.
MOST_CARED, SHARE, ITERATIONS, EVALUATE_EVERY, PATIENCE = 4, 0.85, 200, 10, 5
TIMED_ITERATIONS = 100


def compare(problem: Problem) -> dict[str, str]:
    data = problem.for_cornac(lambda rating: (rating - 3) / 2)
    rows = len(problem.train)
    fixed = {"iterations": TIMED_ITERATIONS, "evaluate_every": TIMED_ITERATIONS}
    OurTimed(**fixed).fit(problem.train)  # compiles

    def our_speed(threads: int) -> float:
        model = OurTimed(**fixed, explicit_factors=40, latent_factors=60, threads=threads)
        return rows * TIMED_ITERATIONS / model.fit(problem.train).seconds / 1e6

    def their_speed() -> float:
        model = TheirTimed(max_iter=TIMED_ITERATIONS, num_threads=THREADS).fit(data)
        return rows * TIMED_ITERATIONS / model.seconds / 1e6

    outcome = contest(
        problem,
        Contender(
            "dmrank",
            lambda settings: fit_ours(problem, settings),
            {"regularization": (1.0, 3.0, 10.0, 30.0), "quality": ("mean", "sentiment")},
            {
                "dmrank, 1 thread": lambda: our_speed(1),
                f"dmrank, {THREADS} threads": lambda: our_speed(THREADS),
            },
        ),
        Contender(
            "Cornac",
            lambda settings: fit_theirs(problem, data, settings),
            {"norms": (0.01, 0.1, 0.3, 1.0), "popularity": (False, True)},
            # Its wheel for Linux may be built without OpenMP, and works on one thread then.
            {f"Cornac, {THREADS} threads asked": their_speed},
        ),
    )
    return outcome.row


def fit_ours(problem: Problem, settings: Settings) -> Fitted:
    model = dmrank.EFM(
        most_cared=MOST_CARED, explicit_share=SHARE, iterations=ITERATIONS,
        evaluate_every=EVALUATE_EVERY, patience=PATIENCE, threads=THREADS, **settings,
    )  # fmt: skip
    started = time.perf_counter()
    model.fit(problem.train, validation=problem.split.validation)
    seconds = time.perf_counter() - started
    return Fitted(model.scorer(model.weights(None)), seconds)


def fit_theirs(problem: Problem, data: Any, settings: Settings) -> Fitted:
    """Fit Cornac's model with the same early stopping; each call of its `fit` goes on."""
    norms = dict.fromkeys(("lambda_u", "lambda_h", "lambda_v"), settings["norms"])
    model = cornac.models.EFM(
        num_most_cared_aspects=MOST_CARED, alpha=SHARE, max_iter=EVALUATE_EVERY, seed=0,
        use_item_aspect_popularity=settings["popularity"], **norms,
    )  # fmt: skip
    scorer = _scorer(model, data, len(problem.train.items))
    started = time.perf_counter()
    best, since, kept = -1.0, 0, {}
    for _ in range(ITERATIONS // EVALUATE_EVERY):
        model.fit(data)
        model.is_fitted = False  # or else it warns, although it goes on from where it was
        value = problem.on_validation(scorer)
        since += 1
        if value > best:
            best, since = value, 0
            kept = {name: getattr(model, name).copy() for name in ("U1", "U2", "V", "H1", "H2")}
        if since == PATIENCE:
            break
    vars(model).update(kept)
    return Fitted(scorer, time.perf_counter() - started)


def _scorer(model: cornac.models.EFM, data: Any, items: int) -> Blocks:
    """Return Cornac's ranking scores by our codes; items that it does not know score 0."""
    codes = np.array(list(data.iid_map))

    def score(users: NDArray[np.integer]) -> NDArray[np.float32]:
        scores = np.zeros((len(users), items), dtype=np.float32)
        for row, user in enumerate(users.tolist()):
            scores[row, codes] = model.rank(data.uid_map[user])[1]
        return scores

    return Blocks(score)


class OurTimed(dmrank.EFM):
    """Takes the time of its iterations, without preparing data or calibrating."""

    seconds = 0.0

    def _runner(self, *arguments: Any) -> Any:
        run = super()._runner(*arguments)

        def timed(first: int, count: int) -> NDArray[np.float64]:
            started = time.perf_counter()
            objectives = run(first, count)
            self.seconds += time.perf_counter() - started
            return objectives

        return timed


class TheirTimed(cornac.models.EFM):
    """Takes the time of its iterations, without preparing data."""

    def _fit_efm(self, *arguments: Any) -> None:
        started = time.perf_counter()
        super()._fit_efm(*arguments)
        self.seconds = time.perf_counter() - started
