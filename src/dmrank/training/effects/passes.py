"""Passes of EM over ratings and effects in the memory of one process."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.data.rows import group_rows
from dmrank.support.arrays import Codes, Floats
from dmrank.training.data import TrainingData
from dmrank.training.effects.blocks import Patterns, Side, Sums, find_patterns, update_effects
from dmrank.training.effects.em import Effects, inverse, prior_of_noise
from dmrank.training.effects.noise_update import update_noise
from dmrank.training.effects.own_noise import OwnNoise, Posteriors, update_effects_by
from dmrank.training.effects.residuals import Residuals, sum_residuals


class CrossedRatings(NamedTuple):
    """Rating vectors seen from both sides."""

    values: Floats
    codes: tuple[Codes, Codes]
    by_user: Side
    by_item: Side
    patterns: Patterns


def crossed_ratings(data: TrainingData) -> CrossedRatings:
    """Group rating vectors by user and by item, and number them by the aspects they have."""
    rows, pointer = group_rows(data.items, len(data.item_counts))
    own = np.arange(len(data.items))
    return CrossedRatings(
        values=data.values.astype(np.float64),
        codes=(data.row_users, data.items),
        by_user=reading(Side(data.user_ptr, own, data.items)),
        by_item=reading(Side(pointer, rows.astype(np.int64), data.row_users[rows])),
        patterns=find_patterns(data.values),
    )


class PassesHere:
    """Passes over ratings and effects in the memory of this process."""

    def __init__(self, ratings: CrossedRatings, threads: int | None) -> None:
        self.ratings, self.threads = ratings, threads
        self.present, of_rows = ratings.patterns
        self.counts = np.bincount(of_rows, minlength=len(self.present)).astype(np.float64)
        self.users = len(ratings.by_user.pointer) - 1

    def _left(self, effects: Effects) -> Floats:
        return self.ratings.values - effects.level

    def update_users(self, effects: Effects, P: Floats) -> Sums:
        """Put the posteriors of all users in place."""
        return update_effects(
            effects.users, effects.user_covariances, self.ratings.by_user, self._left(effects),
            effects.items, self.ratings.patterns, noise=P, prior=inverse(effects.user_prior),
            threads=self.threads,
        )  # fmt: skip

    def update_items(self, effects: Effects, P: Floats) -> Sums:
        """Put the posteriors of all items in place."""
        return update_effects(
            effects.items, effects.item_covariances, self.ratings.by_item, self._left(effects),
            effects.users, self.ratings.patterns, noise=P, prior=inverse(effects.item_prior),
            threads=self.threads,
        )  # fmt: skip

    def sum_residuals(self, effects: Effects) -> Residuals:
        """Add up what no effect explains."""
        sides = effects.users, effects.items
        ratings, left = self.ratings, self._left(effects)
        return sum_residuals(left, ratings.codes, sides, ratings.patterns, self.threads)

    def _noise(self, effects: Effects) -> OwnNoise:
        return OwnNoise(effects.user_noise, self.ratings.codes[0])

    def update_users_by(self, effects: Effects) -> Sums:
        """Do what `update_users` does, where users have a noise of their own."""
        return update_effects_by(
            self._noise(effects), Posteriors(effects.users, effects.user_covariances),
            self.ratings.by_user, self._left(effects), effects.items, self.ratings.patterns,
            prior=inverse(effects.user_prior)[None], threads=self.threads,
        )  # fmt: skip

    def update_items_by(self, effects: Effects) -> Sums:
        """Do what `update_items` does, where users have a noise of their own."""
        return update_effects_by(
            self._noise(effects), Posteriors(effects.items, effects.item_covariances),
            self.ratings.by_item, self._left(effects), effects.users, self.ratings.patterns,
            prior=inverse(effects.item_prior)[None], threads=self.threads,
        )  # fmt: skip

    def update_noise(self, effects: Effects, strength: float) -> float:
        """Put the noise of all users in place; return what is expected of ratings by the old."""
        return update_noise(
            self._noise(effects), self.ratings.by_user, self._left(effects),
            Posteriors(effects.users, effects.user_covariances),
            Posteriors(effects.items, effects.item_covariances),
            self.ratings.patterns, prior_of_noise(effects, strength, self.users), self.threads,
        )  # fmt: skip
