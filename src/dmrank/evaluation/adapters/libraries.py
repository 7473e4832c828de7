"""Fitted models of other libraries, asked through their own public methods.

None of these libraries is imported: whoever has such a model has loaded its library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dmrank.evaluation.adapters.adapted import AdaptedScores
from dmrank.support.arrays import AnyFloats, Int64s
from dmrank.support.errors import ConfigError, DataError, NotFittedError


def library_of(model: object) -> str | None:
    """Return which of the known libraries a model, or the class that it is made from, is of."""
    modules = [kind.__module__.split(".")[0] for kind in type(model).__mro__]
    return next((module for module in modules if module in LIBRARIES), None)


def adapt_implicit(
    model: Any, *, users: Iterable[object] | None, items: Iterable[object] | None, data: Any
) -> AdaptedScores:
    """Take a model of implicit, whose ids are those of the matrix that it was fitted on."""
    name = type(model).__name__
    if users is None or items is None:
        raise ConfigError(
            f"{name} of implicit knows no ids: give users= and items=, the ids of the rows and "
            "columns of the matrix that it was fitted on"
        )
    has_vectors = hasattr(model, "user_factors")
    if (model.user_factors if has_vectors else model.similarity) is None:
        raise NotFittedError(f"{name} of implicit is not fitted: call fit first")
    if data is None and not has_vectors:
        raise ConfigError(f"{name} of implicit scores from the matrix that it was fitted on: "
                          "give it as data=")  # fmt: skip
    row_ids, column_ids = list(users), list(items)
    shape = (
        (model.user_factors.shape[0], model.item_factors.shape[0]) if has_vectors else data.shape
    )
    if shape != (len(row_ids), len(column_ids)):
        raise DataError(
            f"{name} was fitted on a matrix of shape {shape}, but there are {len(row_ids):,} users "
            f"and {len(column_ids):,} items: give an id for each row and column"
        )

    def score(rows: Int64s) -> AnyFloats:
        found, scores = model.recommend(
            rows,
            None if data is None else data[rows],
            N=len(column_ids),
            filter_already_liked_items=False,
        )
        block = np.full((len(rows), len(column_ids)), -np.inf)
        row, place = np.nonzero(found >= 0)
        block[row, found[row, place]] = scores[row, place]
        return block

    seen = None if data is None else data.nonzero()
    return AdaptedScores(name, row_ids, column_ids, score, seen=seen)


def adapt_cornac(model: Any) -> AdaptedScores:
    """Take a model of Cornac, which knows its ids."""
    if model.uid_map is None:
        raise NotFittedError(f"{model.name} of Cornac is not fitted: call fit first")
    # The maps also have ids of validation and test, after those of training.
    users, items = list(model.uid_map)[: model.num_users], list(model.iid_map)[: model.num_items]

    def score(rows: Int64s) -> AnyFloats:
        # What it ranks by: of some models other than their score, and of one dimension for all.
        return np.array([model.rank(int(row))[1] for row in rows])

    return AdaptedScores(str(model.name), users, items, score)


def adapt_rectools(model: Any, *, data: Any) -> AdaptedScores:
    """Take a model of RecTools with its data set, which knows the ids."""
    name = type(model).__name__
    if data is None:
        raise ConfigError(
            f"{name} of RecTools makes lists from its data set: give the Dataset that it was "
            "fitted on as data="
        )
    if not model.is_fitted:
        raise NotFittedError(f"{name} of RecTools is not fitted: call fit first")
    users, items = data.user_id_map.external_ids, data.item_id_map.external_ids

    def score(rows: Int64s) -> AnyFloats:
        lists = model.recommend(users[rows], data, k=len(items), filter_viewed=False)
        place_of = {user: place for place, user in enumerate(users[rows])}
        row = np.array([place_of[user] for user in lists["user_id"]], dtype=np.int64)
        column = data.item_id_map.convert_to_internal(lists["item_id"].to_numpy())
        block = np.full((len(rows), len(items)), -np.inf)
        block[row, column] = lists["score"]
        return block

    interactions = data.interactions.df
    seen = interactions["user_id"].to_numpy(), interactions["item_id"].to_numpy()
    return AdaptedScores(name, users.tolist(), items.tolist(), score, seen=seen)


def adapt_lenskit(pipeline: Any, *, data: Any) -> AdaptedScores:
    """Take a trained pipeline of LensKit with its data set, which knows the ids."""
    from lenskit import score as score_items

    if not hasattr(pipeline, "run"):
        raise ConfigError(
            f"{type(pipeline).__name__} of LensKit is a part of a pipeline: give the pipeline, "
            "such as lenskit.topn_pipeline(scorer) after its training"
        )
    if data is None:
        raise ConfigError(
            "a pipeline of LensKit does not tell its ids: give the Dataset that it was trained on "
            "as data="
        )
    users, items = data.users.ids(), data.items.ids()

    def score(rows: Int64s) -> AnyFloats:
        block = np.full((len(rows), len(items)), -np.inf)
        for place, row in enumerate(rows):
            scored = score_items(pipeline, users[row], items)
            found = np.asarray(scored.scores(), dtype=np.float64)
            block[place, data.items.numbers(scored.ids())] = found
        # What a scorer cannot tell is NaN in LensKit.
        return np.where(np.isnan(block), -np.inf, block)

    table = data.interactions().pandas()
    seen = table["user_num"].to_numpy(), table["item_num"].to_numpy()
    name = str(pipeline.name or "LensKit")
    return AdaptedScores(name, users.tolist(), items.tolist(), score, seen=seen)


def adapt_surprise(model: Any) -> AdaptedScores:
    """Take an algorithm of Surprise, which knows the ids of its training set."""
    name = type(model).__name__
    train = getattr(model, "trainset", None)
    if train is None:
        raise NotFittedError(f"{name} of Surprise is not fitted: call fit first")
    users = [train.to_raw_uid(code) for code in range(train.n_users)]
    items = [train.to_raw_iid(code) for code in range(train.n_items)]

    def score(rows: Int64s) -> AnyFloats:
        # Clipped to the scale, the best items would all be equal.
        return np.array(
            [[model.predict(users[row], item, clip=False).est for item in items] for row in rows]
        )

    pairs = np.array([(user, item) for user, item, _ in train.all_ratings()], dtype=np.int64)
    return AdaptedScores(name, users, items, score, seen=(pairs[:, 0], pairs[:, 1]))


#: What each library's models are adapted by, and what has to be given with them.
LIBRARIES: dict[str, tuple[Callable[..., AdaptedScores], Sequence[str]]] = {
    "implicit": (adapt_implicit, ("users", "items", "data")),
    "cornac": (adapt_cornac, ()),
    "rectools": (adapt_rectools, ("data",)),
    "lenskit": (adapt_lenskit, ("data",)),
    "surprise": (adapt_surprise, ()),
}
