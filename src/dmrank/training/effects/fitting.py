"""A run of EM: here, or on the workers that there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.support.arrays import Array, Arrays, Floats
from dmrank.support.workers import Workers, current_workers
from dmrank.training.data import Missing, ScaledRows, ratings_data
from dmrank.training.effects.em import effects_arrays, initial_effects, run_rounds
from dmrank.training.effects.passes import PassesHere, crossed_ratings
from dmrank.training.effects.spread import PassesThere


class EM(NamedTuple):
    """What a training loop needs.

    Attributes
    ----------
    run : callable
        Runs rounds in place, of a noise for each user if their strength κ is given, and returns
        the bound after each.
    parameters : mapping of str to array
        The state of the run.
    learned : callable
        Returns the arrays that a model keeps.
    """

    run: Callable[[int, float | None], Floats]
    parameters: Arrays
    learned: Callable[[], dict[str, Array]]


def start_em(
    ratings: Ratings,
    missing: Missing,
    own_noise: bool,
    checkpoint: str | os.PathLike[str] | None,
    threads: int | None,
) -> EM:
    """Begin at the means.

    Parameters
    ----------
    ratings, missing
        What to learn from.
    own_noise : bool
        Whether users get a noise of their own.
    checkpoint : path or None
        Where workers keep what belongs to the state of a run.
    threads : int or None
        Number of threads.
    """
    workers = current_workers()
    if workers is not None:
        folder = None if checkpoint is None else Path(checkpoint)
        return _there(ratings, missing, own_noise, folder, workers)
    data = ratings_data(ratings, missing)
    sizes = len(ratings.users), len(ratings.items)
    effects = initial_effects(data.values, *sizes, own_noise=own_noise)
    passes = PassesHere(crossed_ratings(data), threads)
    return EM(
        lambda count, strength: run_rounds(passes, effects, count, strength),
        effects._asdict(),
        lambda: effects_arrays(effects),
    )


def _there(
    ratings: Ratings, missing: Missing, own_noise: bool, folder: Path | None, workers: Workers
) -> EM:
    """Let workers make the passes: effects of users are in files."""
    values, rounds = ScaledRows(ratings, missing), np.zeros(1, dtype=np.int64)
    effects = initial_effects(values, 0, len(ratings.items), own_noise=own_noise)
    pointer, items = ratings.user_pointer, ratings.item_codes
    passes = PassesThere(workers, folder, pointer, items, len(ratings.items), values, rounds)

    def run(count: int, strength: float | None) -> Floats:
        bounds = np.empty(count)
        for number in range(count):
            passes.next_round(effects, own_noise=strength is not None)
            (bounds[number],) = run_rounds(passes, effects, 1, strength)
        return bounds

    here = {name: array for name, array in effects._asdict().items() if len(array)}
    return EM(
        run,
        {**here, "rounds": rounds},
        lambda: effects_arrays(effects) | passes.arrays(own_noise=own_noise),
    )
