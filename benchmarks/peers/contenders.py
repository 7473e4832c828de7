"""Models of other libraries and ours: what each learns from, how it is fitted, asked and tuned.

Models of lists are given a one for every rating, MTER all aspects, the others the overall rating.
Grids lie around the best setting that was found for a peer on validation ratings of Yahoo! Movies;
what is not in a grid or a comment is the library's default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import dmrank
from benchmarks.originals.contest import Settings

SEED, THREADS = 1, 1
#: What settings are chosen by: lists, or the order of rated pairs.
LISTS, ORDER = "ndcg@10", "rated pairs"
Grid = dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Contender:
    """A model of a library: what it learns from, how it is fitted and asked, what is tried.

    `prepare` makes the library's own data of a split, and is not timed; `fit` takes these and
    settings, `adapt` the fitted model, these and the training ratings.
    """

    library: str
    prepare: Callable[[dmrank.Split], Any]
    fit: Callable[[Any, Settings], Any]
    adapt: Callable[[Any, Any, dmrank.Ratings], Any]
    grid: Grid
    tuned_by: str = LISTS


# What each library learns from.


def frame_of(train: dmrank.Ratings) -> Any:
    import pandas as pd

    return pd.DataFrame({
        "user_id": train.users.names(train.user_codes).to_list(),
        "item_id": train.items.names(train.item_codes).to_list(),
        "rating": train.values[:, train.aspect(train.primary_aspect)].astype(float),
    })  # fmt: skip


def matrix_of(split: dmrank.Split) -> csr_matrix:
    train = split.train
    ones = np.ones(len(train), dtype=np.float32)
    shape = (len(train.users), len(train.items))
    return csr_matrix((ones, (train.user_codes, train.item_codes)), shape=shape)


def cornac_of_ratings(split: dmrank.Split) -> Any:
    return cornac_rows(frame_of(split.train))


def cornac_of_ones(split: dmrank.Split) -> Any:
    return cornac_rows(frame_of(split.train).assign(rating=1.0))


def cornac_rows(frame: Any) -> Any:
    from cornac.data import Dataset

    return Dataset.from_uir(frame.itertuples(index=False), seed=SEED)


def cornac_of_aspects(split: dmrank.Split) -> Any:
    from benchmarks.originals.mter import sentiment
    from benchmarks.originals.problem import cornac_with_sentiments

    return cornac_with_sentiments(split.train, sentiment)


def lenskit_of(split: dmrank.Split) -> Any:
    from lenskit.data import from_interactions_df

    return from_interactions_df(frame_of(split.train))


def rectools_of(split: dmrank.Split) -> Any:
    from rectools.dataset import Dataset

    frame = frame_of(split.train).drop(columns="rating")
    return Dataset.construct(frame.assign(weight=1.0, datetime="2020-01-01"))


# How each library is fitted.


def fit_als(matrix: csr_matrix, settings: Settings) -> Any:
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(alpha=5.0, num_threads=THREADS, random_state=SEED, **settings)
    model.fit(matrix, show_progress=False)
    return model


def fit_bm25(matrix: csr_matrix, settings: Settings) -> Any:
    from implicit.nearest_neighbours import BM25Recommender

    model = BM25Recommender(K=500, num_threads=THREADS, **settings)
    model.fit(matrix, show_progress=False)
    return model


def fit_cornac(kind: str, **fixed: Any) -> Callable[[Any, Settings], Any]:
    def fit(data: Any, settings: Settings) -> Any:
        from cornac import models

        return getattr(models, kind)(seed=SEED, verbose=False, **fixed, **settings).fit(data)

    return fit


def fit_lenskit(kind: str, **fixed: Any) -> Callable[[Any, Settings], Any]:
    def fit(data: Any, settings: Settings) -> Any:
        import lenskit
        from lenskit.als import BiasedMFScorer, ImplicitMFScorer
        from lenskit.knn import EASEScorer, ItemKNNScorer
        from lenskit.training import TrainingOptions

        kinds = (BiasedMFScorer, ImplicitMFScorer, EASEScorer, ItemKNNScorer)
        scorer = next(one for one in kinds if one.__name__ == kind)(**fixed, **settings)
        pipeline = lenskit.topn_pipeline(scorer)
        pipeline.train(data, TrainingOptions(rng=SEED))
        return pipeline

    return fit


def fit_rectools(kind: str, **fixed: Any) -> Callable[[Any, Settings], Any]:
    def fit(data: Any, settings: Settings) -> Any:
        from rectools import models

        return getattr(models, kind)(**fixed, **settings).fit(data)

    return fit


def fit_ours(kind: type[dmrank.Model]) -> Callable[[dmrank.Split, Settings], dmrank.Model]:
    def fit(split: dmrank.Split, settings: Settings) -> dmrank.Model:
        model = kind(seed=SEED, threads=THREADS, **settings)
        return model.fit(split.train, validation=split.validation)

    return fit


# How each library is asked.


def with_ids(model: Any, _: Any, train: dmrank.Ratings) -> Any:
    return dmrank.adapt(model, users=train.users, items=train.items)


def with_matrix(model: Any, matrix: csr_matrix, train: dmrank.Ratings) -> Any:
    return dmrank.adapt(model, users=train.users, items=train.items, data=matrix)


def with_data(model: Any, data: Any, _: dmrank.Ratings) -> Any:
    return dmrank.adapt(model, data=data)


def alone(model: Any, *_: Any) -> Any:
    return model if isinstance(model, dmrank.Model) else dmrank.adapt(model)


def by_codes(model: Any, data: Any, train: dmrank.Ratings) -> Any:
    """Take a model of Cornac whose ids are our codes."""
    scores = np.array([model.score(user) for user in range(data.num_users)])
    users, items = (np.array(list(ids)) for ids in (data.uid_map, data.iid_map))
    return dmrank.adapt(scores, users=train.users.names(users), items=train.items.names(items))


# Who takes part: the library, as it is installed, and the model.


def of_cornac(kind: str, grid: Grid, **fixed: Any) -> Contender:
    return Contender("cornac", cornac_of_ones, fit_cornac(kind, **fixed), alone, grid)


def of_lenskit(kind: str, grid: Grid, tuned_by: str = LISTS, **fixed: Any) -> Contender:
    return Contender("lenskit", lenskit_of, fit_lenskit(kind, **fixed), with_data, grid, tuned_by)


def of_rectools(kind: str, grid: Grid, **fixed: Any) -> Contender:
    return Contender("rectools", rectools_of, fit_rectools(kind, **fixed), with_data, grid)


def of_ours(kind: type[dmrank.Model]) -> Contender:
    return Contender("dmrank", lambda split: split, fit_ours(kind), alone, {})


CONTENDERS: dict[str, Contender] = {
    "dmrank Hurdle": of_ours(dmrank.Hurdle),
    "dmrank DMR": of_ours(dmrank.DMR),
    "implicit ALS": Contender(
        "implicit", matrix_of, fit_als, with_ids,
        {"factors": (128, 256), "regularization": (20.0, 30.0, 40.0)},
    ),
    "implicit BM25": Contender(
        "implicit", matrix_of, fit_bm25, with_matrix, {"K1": (1.2, 5.0), "B": (0.2, 0.35, 0.5)}
    ),
    "Cornac EASE": of_cornac("EASE", {"lamb": (30, 100, 300), "posB": (True, False)}),
    "Cornac BPR": of_cornac(
        "BPR", {"k": (50, 100), "lambda_reg": (0.003, 0.01, 0.03)},
        learning_rate=0.01, max_iter=200, num_threads=THREADS,
    ),
    "Cornac MTER": Contender(
        "cornac", cornac_of_aspects, fit_cornac("MTER", lr=0.3, max_iter=5_000, n_threads=THREADS),
        by_codes, {"lambda_reg": (0.01, 0.1), "lambda_bpr": (10, 30, 100)},
    ),
    "Cornac MF": Contender(
        "cornac", cornac_of_ratings, fit_cornac("MF", max_iter=100, num_threads=THREADS), alone,
        {"k": (50, 100), "lambda_reg": (0.1, 0.2, 0.4)}, ORDER,
    ),
    "RecTools EASE": of_rectools(
        "EASEModel", {"regularization": (10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0)}
    ),
    "RecTools PureSVD": of_rectools("PureSVDModel", {"factors": (5, 10, 20, 40, 80, 160)}),
    "RecTools Popular": of_rectools("PopularModel", {}),
    "LensKit EASE": of_lenskit(
        "EASEScorer", {"regularization": (10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0)}
    ),
    "LensKit ItemKNN": of_lenskit(
        "ItemKNNScorer", {"max_nbrs": (20, 40, 80, 160, 320, 640)}, feedback="implicit"
    ),
    "LensKit ImplicitMF": of_lenskit(
        "ImplicitMFScorer", {"embedding_size": (128, 256), "regularization": (20.0, 30.0, 40.0)},
        weight=5.0,
    ),
    "LensKit BiasedMF": of_lenskit(
        "BiasedMFScorer", {"embedding_size": (50, 100), "regularization": (0.1, 0.2, 0.4)}, ORDER
    ),
}  # fmt: skip
