"""From scores to ratings: which rows a fitted model is calibrated on."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dmrank.data.ratings import Ratings
from dmrank.data.training_scale import to_training_scale
from dmrank.fitted.calibration import Calibration, Rows, calibrate
from dmrank.fitted.contract import Hooks
from dmrank.fitted.fitting import training_values
from dmrank.training.held_out import HeldOut


class Calibrating(Hooks):
    """What learns how scores become ratings on the training scale."""

    #: Whether scores are ratings on the training scale, which need no calibration.
    scores_are_ratings: ClassVar[bool] = False

    def _calibrate(self, ratings: Ratings, validation: Ratings | None) -> Calibration:
        """Calibrate on training ratings, and on held-out ones if there are any."""
        n_users = len(ratings.users)
        if self.scores_are_ratings:
            return Calibration.none(n_users, len(ratings.aspects))
        rows = self._rows(ratings.user_codes, ratings.item_codes, training_values(ratings))
        held_out = None if validation is None else self._held_out_rows(ratings, validation)
        return calibrate(rows, n_users, held_out)

    def _rows(
        self,
        users: NDArray[np.integer],
        items: NDArray[np.integer],
        ratings: NDArray[np.float32],
    ) -> Rows:
        return Rows(users, self._raw_scores(users, items), ratings)

    def _held_out_rows(self, train: Ratings, validation: Ratings) -> Rows:
        return self._rows(*held_out_ratings(train, validation))


def held_out_ratings(
    train: Ratings, validation: Ratings
) -> tuple[NDArray[np.integer], NDArray[np.int32], NDArray[np.float32]]:
    """Return users, items and ratings on the training scale of what training knows the ids of."""
    known = HeldOut.of(train, validation)
    values = np.full((len(known.values), len(train.aspects)), np.nan, dtype=np.float32)
    values[:, [train.aspect(name) for name in known.aspects]] = known.values
    users = np.repeat(known.users, np.diff(known.items.pointer))
    return users, known.items.items, to_training_scale(values, train.scale).astype(np.float32)
