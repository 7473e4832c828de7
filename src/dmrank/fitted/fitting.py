"""What a model is given to learn from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from dmrank.data.ratings import Ratings
from dmrank.fitted.warm_start import WarmStart
from dmrank.training.data import Missing, TrainingData, ratings_data
from dmrank.training.history import History
from dmrank.training.validation import Validator


@dataclass(frozen=True)
class Fitting:
    """One call of `fit`, as the hook of a model sees it.

    Attributes
    ----------
    ratings : Ratings
        Training ratings.
    validator : Validator or None
        Judges a scorer on the validation ratings, if there are any.
    checkpoint : path or None
        Folder in which the state is saved at intervals.
    callback : callable or None
        Called with the history after each evaluation.
    warm_start : WarmStart or None
        What an existing model knows, from which training goes on.
    validation : Ratings or None
        The validation ratings themselves, for what a model chooses by them.
    """

    ratings: Ratings
    validator: Validator | None = None
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callable[[History], None] | None = None
    warm_start: WarmStart | None = None
    validation: Ratings | None = None

    def training_data(self, missing: Missing = "marginalize") -> TrainingData:
        """Return the ratings on the training scale 1–5, as training code takes them."""
        return ratings_data(self.ratings, missing)
