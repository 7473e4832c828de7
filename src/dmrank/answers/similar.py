"""Which items, or users, are alike in the eyes of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.answers.lists import check_length
from dmrank.fitted.cache import Keeping
from dmrank.fitted.contract import By
from dmrank.fitted.scorers import Vectors
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

Floats = NDArray[np.float64]
Side = Literal["items", "users"]


@dataclass(frozen=True)
class Profiles:
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

    def nearest(
        self, code: int, n: int, taking_part: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return the n others most alike, the nearest first among equal cosines."""
        cosine, distance = self.similarities(code)
        others = taking_part.copy()
        others[code] = False
        codes = np.flatnonzero(others)
        # Whole steps of cosine, less a fraction that grows with the distance.
        typical = float(np.median(distance)) or 1.0
        key = np.round(cosine[codes] * 1e5) - distance[codes] / (distance[codes] + typical)
        best = np.argsort(-key, kind="stable")[:n]
        return codes[best], cosine[codes[best]]


class Similar(Keeping):
    """What finds items or users that are alike."""

    def similar_items(self, item: str, n: int = 10, *, by: By = None) -> pl.DataFrame:
        """Find the items that users score most like this one.

        The profile of an item are its scores for a sample of users, less each user's mean score
        over all items (whose level a ranking leaves open). Similarity is the cosine of two
        profiles; equal cosines are ordered by the distance of the profiles. A model with the same
        list for everybody knows only better and worse: its cosines are 1 and −1, and the items
        nearest in score come first. The sample is seeded.

        Parameters
        ----------
        item : str
            Item id.
        n : int
            How many to find; fewer where there are not so many. Items without a training rating
            are not among them.
        by : str or mapping of str to float, optional
            The aspect, or mix of aspects, that is scored; by default the primary aspect.

        Returns
        -------
        polars.DataFrame
            Columns rank (from 1), item, similarity (from −1 to 1), and item_name if the ratings
            had names.

        Examples
        --------
        >>> import dmrank
        >>> users, items = ["a", "a", "b", "b", "c", "c"], ["x", "y", "x", "y", "v", "w"]
        >>> ratings = dmrank.Ratings.from_arrays(users, items, [[5]] * 6, aspects=["r"])
        >>> dmrank.IALS(factors=2).fit(ratings).similar_items("x", n=1)["item"].to_list()
        ['y']
        """
        found = self._most_alike("items", item, n, by)
        names = self.catalogue.item_names
        if names is None:
            return found
        codes = self.catalogue.items.codes(found["item"])
        return found.with_columns(names[codes].alias("item_name"))

    def similar_users(self, user: str, n: int = 10, *, by: By = None) -> pl.DataFrame:
        """Find the users whose scores of items are most like this one's.

        The profile of a user are the scores of a sample of items, less the user's mean score;
        similarity is the cosine of two profiles. A model with the same list for everybody finds
        all users alike.

        Parameters
        ----------
        user : str
            User id.
        n : int
            How many to find; fewer where there are not so many. Users without a training rating
            are not among them.
        by : str or mapping of str to float, optional
            The aspect, or mix of aspects, that is scored; by default the primary aspect.

        Returns
        -------
        polars.DataFrame
            Columns rank (from 1), user, and similarity (from −1 to 1).

        Examples
        --------
        >>> import dmrank
        >>> users, items = ["a", "a", "b", "b", "c", "c"], ["x", "y", "x", "y", "v", "w"]
        >>> ratings = dmrank.Ratings.from_arrays(users, items, [[5]] * 6, aspects=["r"])
        >>> dmrank.IALS(factors=2).fit(ratings).similar_users("a", n=1)["user"].to_list()
        ['b']
        """
        return self._most_alike("users", user, n, by)

    def _most_alike(self, side: Side, name: str, n: int, by: By) -> pl.DataFrame:
        check_length(n)
        catalogue = self.catalogue
        if side == "items":
            ids, rated = catalogue.items, catalogue.rated_items
        else:
            ids, rated = catalogue.users, np.diff(catalogue.seen_pointer) > 0
        code = ids.code(name)
        if not rated[code]:
            raise DataError(f"{ids.kind} {name!r} has no training rating: nothing is known of it")
        codes, cosines = self._profiles(side, by).nearest(code, n, rated)
        return pl.DataFrame(
            [
                pl.Series("rank", np.arange(1, len(codes) + 1), dtype=pl.Int32),
                ids.names(codes).alias(ids.kind),
                pl.Series("similarity", cosines, dtype=pl.Float32),
            ]
        )

    def _profiles(self, side: Side, by: By) -> Profiles:
        weights = self._weights(by)

        def make() -> Profiles:
            mix = weights * self._calibration.slope
            scorer = self._scorer(mix)
            if isinstance(scorer, Vectors):
                return self._vector_profiles(side, scorer)
            return self._score_profiles(side, mix)

        return self._kept((f"similar {side}", weights.tobytes()), make)

    def _vector_profiles(self, side: Side, vectors: Vectors) -> Profiles:
        """Return x R, where R Rᵀ is the second moment of the vectors on the other side.

        Then (x R)·(y R) = mean over the other side of (score of x)(score of y).
        """
        rated = _sample(np.flatnonzero(self.catalogue.rated_items), _SAMPLE_OF_VECTORS)
        centre = vectors.items[rated].mean(axis=0, dtype=np.float64)
        if side == "items":
            users = _sample(self._rating_users(), _SAMPLE_OF_VECTORS)
            root = _root(vectors.of_users(users))
            return Profiles(len(vectors.items), lambda rows: (vectors.items[rows] - centre) @ root)
        root = _root(vectors.items[rated] - centre)
        return Profiles(len(vectors.users), lambda rows: vectors.of_users(rows) @ root)

    def _score_profiles(self, side: Side, weights: NDArray[np.float32]) -> Profiles:
        """Return the scores themselves, of a sample of the other side."""
        size = len(self.catalogue.items if side == "items" else self.catalogue.users)
        length = max(_SCORES // size, _SHORTEST)
        if side == "items":
            table = self._item_table(_sample(self._rating_users(), length), weights)
        else:
            rated = np.flatnonzero(self.catalogue.rated_items)
            table = self._user_table(_sample(rated, length), weights)
        return Profiles(size, lambda rows: table[rows].astype(np.float64))

    def _item_table(
        self, users: NDArray[np.intp], weights: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the scores of all items for some users, less each user's mean."""
        rated = self.catalogue.rated_items
        table = np.empty((len(rated), len(users)), dtype=np.float32)
        for start in range(0, len(users), _USERS_AT_ONCE):
            part = slice(start, start + _USERS_AT_ONCE)
            scores = self._score_block(users[part], weights)
            table[:, part] = (scores - scores[:, rated].mean(axis=1, keepdims=True)).T
        return table

    def _user_table(
        self, items: NDArray[np.intp], weights: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the scores of some items for all users, less each user's mean."""
        table = np.empty((len(self.catalogue.users), len(items)), dtype=np.float32)
        for start in range(0, len(table), _USERS_AT_ONCE):
            users = np.arange(start, min(start + _USERS_AT_ONCE, len(table)))
            scores = self._raw_scores(np.repeat(users, len(items)), np.tile(items, len(users)))
            mixed = (scores @ weights).reshape(len(users), len(items))
            table[users] = mixed - mixed.mean(axis=1, keepdims=True)
        return table

    def _rating_users(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.diff(self.catalogue.seen_pointer))


def _sample(codes: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Draw at most so many codes, the same ones every time."""
    if len(codes) <= most:
        return codes
    return np.sort(np.random.default_rng(0).choice(codes, size=most, replace=False))


def _root(vectors: NDArray[np.floating]) -> Floats:
    """Return R with R Rᵀ = the second moment of vectors."""
    moment = vectors.astype(np.float64).T @ vectors / max(len(vectors), 1)
    values, directions = np.linalg.eigh(moment)
    return np.asarray(directions * np.sqrt(np.maximum(values, 0)))
