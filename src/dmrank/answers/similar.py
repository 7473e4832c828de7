"""Which items, or users, are alike in the eyes of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from dmrank.answers.lists import check_length
from dmrank.data.ids import Id
from dmrank.data.rows import has_rows
from dmrank.fitted.contract import By, FittedModel
from dmrank.fitted.scorers import Vectors
from dmrank.support.arrays import AnyFloats, Bools, Codes, Float32s, Floats
from dmrank.support.errors import DataError

#: So many of the other side make up the profiles of a model with vectors.
_SAMPLE_OF_VECTORS = 16_384
#: Scores that are kept as the profiles of a model without vectors, 16 MB of them, and how many
#: there are in a profile at least.
_SCORES = 1 << 22
_SHORTEST = 128
#: Profiles that are in memory at once.
_ROWS_AT_ONCE = 1 << 16
#: Users whose sampled items are scored at once.
_USERS_AT_ONCE = 256

Side = Literal["items", "users"]


@dataclass(frozen=True)
class ScoreProfiles:
    """Vectors whose cosine says how alike two items or two users are.

    Attributes
    ----------
    size : int
        How many there are.
    rows : callable
        Returns those of a slice, one row each.
    """

    size: int
    rows: Callable[[slice], Floats]

    def similarities(self, code: int) -> tuple[Floats, Floats]:
        """Return cosine with, and distance from, every profile; a profile of zeros has cosine 0."""
        own = self.rows(slice(code, code + 1))[0]
        length = float(np.linalg.norm(own))
        cosine, distance = np.zeros(self.size), np.zeros(self.size)
        for start in range(0, self.size, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            rows = self.rows(part)
            lengths = np.linalg.norm(rows, axis=1) * length
            np.divide(rows @ own, lengths, out=cosine[part], where=lengths > 0)
            distance[part] = np.linalg.norm(rows - own, axis=1)
        return np.clip(cosine, -1, 1), distance

    def nearest(self, code: int, n: int, mask: Bools) -> tuple[Codes, Floats]:
        """Return the n others most alike, the nearest first among equal cosines."""
        cosine, distance = self.similarities(code)
        others = mask.copy()
        others[code] = False
        codes = np.flatnonzero(others)
        # Whole steps of cosine, less a fraction that grows with the distance.
        typical = float(np.median(distance)) or 1.0
        key = np.round(cosine[codes] * 1e5) - distance[codes] / (distance[codes] + typical)
        best = np.argsort(-key, kind="stable")[:n]
        return codes[best], cosine[codes[best]]


def similar_items(model: FittedModel, item: Id, n: int, by: By) -> pl.DataFrame:
    """Find the items that users score most like this one; see `Model.similar_items`."""
    found = _most_alike(model, "items", item, n, by)
    names = model.catalogue.item_names
    if names is None:
        return found
    codes = model.catalogue.items.codes(found["item"])
    return found.with_columns(names[codes].alias("item_name"))


def similar_users(model: FittedModel, user: Id, n: int, by: By) -> pl.DataFrame:
    """Find the users whose scores of items are most like this one's; see `Model.similar_users`."""
    return _most_alike(model, "users", user, n, by)


def _most_alike(model: FittedModel, side: Side, name: Id, n: int, by: By) -> pl.DataFrame:
    check_length(n)
    catalogue = model.catalogue
    if side == "items":
        ids, rated = catalogue.items, catalogue.rated_items
    else:
        ids, rated = catalogue.users, has_rows(catalogue.seen_pointer)
    code = ids.code(name)
    if not rated[code]:
        raise DataError(f"{ids.kind} {name!r} has no training rating: nothing is known of it")
    codes, cosines = score_profiles(model, side, by).nearest(code, n, rated)
    return pl.DataFrame(
        [
            pl.Series("rank", np.arange(1, len(codes) + 1), dtype=pl.Int32),
            ids.names(codes),
            pl.Series("similarity", cosines, dtype=pl.Float32),
        ]
    )


def score_profiles(model: FittedModel, side: Side, by: By) -> ScoreProfiles:
    """Return what items, or users, are like in the eyes of a model; it is kept."""
    weights = model.weights(by)

    def make() -> ScoreProfiles:
        scorer = model.rating_scorer(weights)
        if isinstance(scorer, Vectors):
            return _profiles_of_vectors(model, side, scorer)
        return _profiles_of_scores(model, side, weights * model.calibration.slope)

    return model.cache((f"similar {side}", weights.tobytes()), make)


def _profiles_of_vectors(model: FittedModel, side: Side, vectors: Vectors) -> ScoreProfiles:
    """Return x R, where R Rᵀ is the second moment of the vectors on the other side.

    Then (x R)·(y R) = mean over the other side of (score of x)(score of y).
    """
    rated = _sample(np.flatnonzero(model.catalogue.rated_items), _SAMPLE_OF_VECTORS)
    centre = vectors.items[rated].mean(axis=0, dtype=np.float64)
    if side == "items":
        users = _sample(_rating_users(model), _SAMPLE_OF_VECTORS)
        root = _root(vectors.of_users(users))
        return ScoreProfiles(len(vectors.items), lambda rows: (vectors.items[rows] - centre) @ root)
    root = _root(vectors.items[rated] - centre)
    return ScoreProfiles(len(vectors.users), lambda rows: vectors.of_users(rows) @ root)


def _profiles_of_scores(model: FittedModel, side: Side, weights: Float32s) -> ScoreProfiles:
    """Return the scores themselves, of a sample of the other side."""
    size = len(model.catalogue.items if side == "items" else model.catalogue.users)
    length = max(_SCORES // size, _SHORTEST)
    if side == "items":
        table = _item_table(model, _sample(_rating_users(model), length), weights)
    else:
        rated = np.flatnonzero(model.catalogue.rated_items)
        table = _user_table(model, _sample(rated, length), weights)
    return ScoreProfiles(size, lambda rows: table[rows].astype(np.float64))


def _item_table(model: FittedModel, users: Codes, weights: Float32s) -> Float32s:
    """Return the scores of all items for some users, less each user's mean."""
    rated = model.catalogue.rated_items
    table = np.empty((len(rated), len(users)), dtype=np.float32)
    for start in range(0, len(users), _USERS_AT_ONCE):
        part = slice(start, start + _USERS_AT_ONCE)
        scores = model.score_block(users[part], weights)
        table[:, part] = (scores - scores[:, rated].mean(axis=1, keepdims=True)).T
    return table


def _user_table(model: FittedModel, items: Codes, weights: Float32s) -> Float32s:
    """Return the scores of some items for all users, less each user's mean."""
    table = np.empty((len(model.catalogue.users), len(items)), dtype=np.float32)
    for start in range(0, len(table), _USERS_AT_ONCE):
        users = np.arange(start, min(start + _USERS_AT_ONCE, len(table)))
        scores = model.score_pairs(np.repeat(users, len(items)), np.tile(items, len(users)))
        mixed = (scores @ weights).reshape(len(users), len(items))
        table[users] = mixed - mixed.mean(axis=1, keepdims=True)
    return table


def _rating_users(model: FittedModel) -> Codes:
    return np.flatnonzero(np.diff(model.catalogue.seen_pointer))


def _sample(codes: Codes, most: int) -> Codes:
    """Draw at most so many codes, the same ones every time."""
    if len(codes) <= most:
        return codes
    return np.sort(np.random.default_rng(0).choice(codes, size=most, replace=False))


def _root(vectors: AnyFloats) -> Floats:
    """Return R with R Rᵀ = the second moment of vectors."""
    moment = vectors.astype(np.float64).T @ vectors / max(len(vectors), 1)
    values, directions = np.linalg.eigh(moment)
    return np.asarray(directions * np.sqrt(np.maximum(values, 0)))
