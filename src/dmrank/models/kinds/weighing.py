"""What members of a blend count: learned from contests that are drawn here, or by workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.directional.families import Family
from dmrank.models.base import Model
from dmrank.models.kinds.exposure import Exposure
from dmrank.models.opened import ModelFile, opened
from dmrank.support.arrays import Float32s, Floats
from dmrank.support.progress import say
from dmrank.support.workers import Workers, current_workers
from dmrank.training.blending.contests import PER_MEMBER, Activity, count_negatives, draw_contests
from dmrank.training.blending.weights import ContestFiles, Contests, Loss, learn_weights
from dmrank.training.held_out import HeldOut
from dmrank.training.sums import blocks_of

#: With fewer held-out items that have a contest, all members count alike.
_FEWEST_CONTESTS = 30
#: Users whose contests one task draws.
_USERS_PER_TASK = 2_048


def learn_exposure(
    models: dict[str, Model],
    train: Ratings,
    held_out: Ratings | None,
    *,
    loss: Loss,
    family: Family,
    regularization: float,
    negatives: int | None,
    seed: int,
    files: Mapping[str, Path] | None = None,
) -> Exposure:
    """Learn what members count from held-out ratings; without, they all count alike.

    Workers, if there are any, open the members by their files.
    """
    alike = np.zeros((len(train.aspects), len(models), PER_MEMBER), dtype=np.float32)
    alike[:, :, 0] = 1 / len(models)
    equal = Exposure(
        models,
        alike.reshape(len(alike), -1),
        Activity.from_counts(np.diff(train.user_pointer)),
        next(iter(models.values())).catalogue,
    )
    if held_out is None:
        return equal
    known = HeldOut.from_ratings(train, held_out)
    ratings = _filled(known.training_values(train))
    draws = _Draws(count_negatives(len(ratings)) if negatives is None else negatives, seed)
    blocks = _drawn(equal, known, ratings, draws, files)
    if sum(block.items for block in blocks) < _FEWEST_CONTESTS:
        say("too few held-out ratings to weigh the members by: they all count alike")
        return equal
    contests = [block.contests for block in blocks if block.items]
    weights = learn_weights(contests, loss, family, regularization)
    return replace(equal, weights=weights.astype(np.float32))


def _filled(ratings: Floats) -> Floats:
    """Return ratings with an aspect that nobody rated as if it had the mean of the others.

    Its weights would stay 0, and lists by it would be a tie.
    """
    empty = np.isnan(ratings).all(axis=0)
    if not empty.any() or empty.all():
        return ratings
    present = ~np.isnan(ratings)
    means = np.where(present, ratings, 0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    return np.where(empty, means[:, None], ratings)


class _Draws(NamedTuple):
    """How many unrated items are drawn for each held-out one, and by which seed."""

    negatives: int
    seed: int

    def of(self, equal: Exposure, held_out: HeldOut, ratings: Floats) -> Contests:
        return draw_contests(
            held_out,
            ratings,
            equal.standardised,
            equal.activity_of(held_out.users),
            negatives=self.negatives,
            seed=self.seed,
            threads=equal.threads,
        )


class _Block(NamedTuple):
    """The contests of a block of users, and how many held-out items have any."""

    contests: Contests | ContestFiles
    items: int


def _drawn(
    equal: Exposure,
    known: HeldOut,
    ratings: Floats,
    draws: _Draws,
    files: Mapping[str, Path] | None,
) -> list[_Block]:
    """Return the contests of each block of users."""
    workers = current_workers()
    if workers is not None and files is not None:
        return _drawn_there(workers, _Files.of(equal, files), known, ratings, draws)
    found = []
    for block in blocks_of(len(known.users)):
        some, rows = known.part(block.start, block.stop)
        contests = draws.of(equal, some, ratings[rows])
        found.append(_Block(contests, len(contests.starts)))
    return found


def _drawn_there(
    workers: Workers, models: _Files, known: HeldOut, ratings: Floats, draws: _Draws
) -> list[_Block]:
    """Let workers draw, a few users each."""
    folder, found = workers.new_folder(), []
    for block in blocks_of(len(known.users)):
        starts = range(block.start, block.stop, _USERS_PER_TASK)
        parts = (
            (start, *known.part(start, min(start + _USERS_PER_TASK, block.stop)))
            for start in starts
        )
        calls = (
            (models, some, ratings[rows], draws, folder / str(start)) for start, some, rows in parts
        )
        drawn = list(workers.run(_write_contests, calls))
        own = ContestFiles(tuple(part for files, _ in drawn for part in files.parts))
        found.append(_Block(own, sum(items for _, items in drawn)))
    return found


class _Files(NamedTuple):
    """Members by their files, and what else the exposure of a worker is made of."""

    models: dict[str, ModelFile]
    weights: Float32s
    activity: Activity

    @classmethod
    def of(cls, equal: Exposure, files: Mapping[str, Path]) -> Self:
        models = {name: ModelFile.at(files[name]) for name in equal.models}
        return cls(models, equal.weights, equal.activity)

    def opened(self) -> Exposure:
        models = {name: opened(file) for name, file in self.models.items()}
        return Exposure(models, self.weights, self.activity, next(iter(models.values())).catalogue)


def _write_contests(
    models: _Files, held_out: HeldOut, ratings: Floats, draws: _Draws, folder: Path
) -> tuple[ContestFiles, int]:
    """Draw the contests of some users, and write them: what a worker does."""
    contests = draws.of(models.opened(), held_out, ratings)
    folder.mkdir(exist_ok=True)
    return ContestFiles.written(folder, contests), len(contests.starts)
