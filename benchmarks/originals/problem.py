"""What both sides of a comparison learn from and are judged on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import dmrank
from dmrank.evaluation import bootstrap_interval
from dmrank.fitted.scorers import Scorer
from dmrank.metrics import NDCG
from dmrank.training.validation import Validator

THREADS = 2
REPEATS = 3


class Problem:
    """One file of ratings: 5-core, 70/15/15 split, NDCG@10 by overall of the full ranking."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.split = dmrank.read_ratings(path, verbose=False).k_core(5).split(seed=0)
        self.train = self.split.train
        self.on_validation = Validator(self.train, self.split.validation, NDCG(10), 2_000, 0)

    def test_values(self, scorer: Scorer) -> NDArray[np.float64]:
        """Return NDCG@10 of each test user."""
        everybody = len(self.train.users)
        split = self.split
        return Validator(
            split.train, split.test, NDCG(10), everybody, 0, also_seen=split.validation
        ).per_user(scorer)

    @cached_property
    def matrix(self) -> csr_matrix:
        """Who rated what, as implicit takes it."""
        train = self.train
        ones = np.ones(len(train), dtype=np.float32)
        pointer = train.user_pointer.astype(np.int32)
        shape = (len(train.users), len(train.items))
        return csr_matrix((ones, train.item_codes.copy(), pointer), shape=shape)

    @cached_property
    def overall_only(self) -> dmrank.Ratings:
        """The training ratings with one aspect and the same codes."""
        train = self.train
        primary = train.aspect(train.primary_aspect)
        return dmrank.Ratings.from_codes(
            train.users,
            train.items,
            train.user_codes,
            train.item_codes,
            train.values[:, [primary]],
            aspects=[train.primary_aspect],
            scale=train.scale[[primary]],
        )

    def for_cornac(self, sentiment: Callable[[float], float]) -> Any:
        """Return ratings and aspect sentiments as a Cornac data set; its ids are our codes."""
        return cornac_with_sentiments(self.train, sentiment)


def cornac_with_sentiments(train: dmrank.Ratings, sentiment: Callable[[float], float]) -> Any:
    """Return ratings and aspect sentiments as a Cornac data set; its ids are our codes.

    Cornac learns from (aspect, opinion, sentiment) triples of a review. Each aspect rating
    becomes one, all with the same opinion word.
    """
    from cornac.data import Dataset, SentimentModality

    overall = train.aspect(train.primary_aspect)
    rows = list(zip(train.user_codes.tolist(), train.item_codes.tolist(), strict=True))
    ratings = train.values[:, overall].tolist()
    data = Dataset.from_uir(
        [(u, i, r) for (u, i), r in zip(rows, ratings, strict=True) if not np.isnan(r)]
    )

    def triples(row: NDArray[np.float32]) -> list[tuple[int, str, float]]:
        rated = [k for k in np.flatnonzero(~np.isnan(row)).tolist() if k != overall]
        return [(k, "rated", sentiment(float(row[k]))) for k in rated]

    reviews = [(u, i, triples(row)) for (u, i), row in zip(rows, train.values, strict=True)]
    modality = SentimentModality(data=reviews)
    modality.build(uid_map=data.uid_map, iid_map=data.iid_map, dok_matrix=data.dok_matrix)
    data.add_modalities(sentiment=modality)
    return data


def by_our_codes(
    table: NDArray[np.floating], index_of: Mapping[int, int], rows: int
) -> NDArray[np.float32]:
    """Return the rows of a peer's table in the order of our codes, 0 for what it does not know."""
    ordered = np.zeros((rows, table.shape[1]), dtype=np.float32)
    ordered[list(index_of)] = table[list(index_of.values())]
    return ordered


def difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    """Return the mean difference over users with its 95 % bootstrap interval."""
    each = ours - theirs
    low, high = bootstrap_interval(each)
    return f"{np.nanmean(each):+.4f} [{low:+.4f}, {high:+.4f}]".replace("0.", ".")
