"""Small splits, and models whose scores are given."""

from __future__ import annotations

import numpy as np

from dmrank import Model, Ratings, Split
from dmrank.models.config import Config

TRAIN = {("a", "x"): (1, 2), ("b", "y"): (2, 3), ("b", "z"): (4, 5), ("a", "w"): (3, 3)}


class Given(Model):
    """Scores are set from outside: users × items × aspects."""

    Config = Config
    scores_are_ratings = True

    def learn(self, fitting) -> None:
        ratings = fitting.ratings
        self.arrays = {
            "scores": np.zeros((len(ratings.users), len(ratings.items), len(ratings.aspects)))
        }

    def score_block(self, users, weights):
        return (self.arrays["scores"][users] @ weights).astype(np.float32)


def given_scores(split: Split, scores: np.ndarray) -> Given:
    model = Given().fit(split.train)
    model.arrays["scores"] = scores
    return model


def make_split(test_rows, validation_rows=None, train_rows=None) -> Split:
    """Make a split of mappings from (user, item) to ratings on the aspects p and q."""
    parts = [TRAIN if train_rows is None else train_rows, validation_rows or {}, test_rows]
    rows = [key for part in parts for key in part]
    ratings = Ratings.from_arrays(
        [user for user, _ in rows],
        [item for _, item in rows],
        np.array([vector for part in parts for vector in part.values()], dtype=float),
        aspects=["p", "q"],
        scale=(1, 5),
    )
    table = list(zip(ratings.user_codes, ratings.item_codes, strict=True))
    names = [(ratings.users[u], ratings.items[i]) for u, i in table]
    return Split(
        *(
            ratings.select(np.flatnonzero([name in part for name in names]).astype(np.int64))
            for part in parts
        )
    )
