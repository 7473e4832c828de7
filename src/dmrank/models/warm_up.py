"""Compile what models run on, before anybody waits for it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from dmrank.answers.list_rows import ListRows, make_rows
from dmrank.compiled.announcing import announcer
from dmrank.data.ratings import Split
from dmrank.data.synthetic import make_ratings
from dmrank.models.base import Model, load
from dmrank.models.hurdle import Hurdle
from dmrank.support.errors import UnsupportedError
from dmrank.support.progress import bar, quietly


def warm_up(*models: type[Model]) -> int:
    """Compile what fitting, ranking and explaining need, and keep it for later processes.

    For images and services, whose first answer should not wait. Code is kept beside the installed
    package, or in the folder that the environment variable NUMBA_CACHE_DIR names.

    Parameters
    ----------
    *models : type of Model
        The models that will be used; by default the one to start with, `Hurdle`.

    Returns
    -------
    int
        How many functions were compiled: 0 if all were kept already.

    Examples
    --------
    >>> from dmrank import Popularity
    >>> _ = warm_up(Popularity)
    >>> warm_up(Popularity)
    0
    """
    before = announcer.functions
    split = make_ratings(60, 30, 1_200, missing=0.2, seed=0).ratings.k_core(5).split(seed=0)
    kinds = models or (Hurdle,)
    with bar("compiling", total=len(kinds)) as progress:
        for done, kind in enumerate(kinds):
            _fit_and_ask(kind, split)
            progress.update(done + 1)
    return announcer.functions - before


def _fit_and_ask(kind: type[Model], split: Split) -> None:
    """Use a model in every way, freshly fitted and from a file."""
    brief = {"iterations": 2, "evaluate_every": 1}
    given = {name: value for name, value in brief.items() if name in kind.Config.model_fields}
    kind(seed=0, **given).fit(split.train)
    fitted = kind(seed=0, **given).fit(split.train, validation=split.validation)
    with tempfile.TemporaryDirectory() as folder:
        for model in (fitted, load(fitted.save(Path(folder) / "model.dmrank"))):
            for question in _questions(model, split):
                # Not every model answers everything.
                with contextlib.suppress(UnsupportedError):
                    question()


def _questions(model: Model, split: Split) -> list[Callable[[], object]]:
    user, first, second = split.train.users[0], split.train.items[0], split.train.items[1]
    ratings = split.test.to_polars().head(20)
    newcomers = ratings.with_columns(user=pl.lit("newcomer"))
    arrivals = ratings.unique("user").with_columns(item=pl.lit("arrival"))
    return [
        lambda: model.recommend(user),
        lambda: model.recommend(user, by="all"),
        lambda: model.recommend(user, candidates=[first, second]),
        lambda: list(model.recommend_blocks([user])),
        lambda: _lists_of_a_service(model),
        lambda: model.predict(user, [first, second]),
        lambda: model.compare(user, first, second),
        lambda: model.explain(user, first),
        lambda: model.complete(ratings),
        lambda: model.similar_items(first),
        lambda: model.similar_users(user),
        lambda: model.fold_in(newcomers).recommend("newcomer"),
        lambda: _with_items(model, arrivals).predict(user, ["arrival"]),
    ]


def _lists_of_a_service(model: Model) -> ListRows:
    users, aspects = np.flatnonzero(np.diff(model.catalogue.seen_pointer))[:2], len(model.aspects)
    mixes = np.eye(aspects, dtype=np.float32)[np.arange(len(users)) % aspects]
    return make_rows(model, users, mixes, 3, model.catalogue.seen_by(users))


def _with_items(model: Model, arrivals: pl.DataFrame) -> Model:
    with quietly():  # what is said of new items is of no interest here
        return model.fold_in(arrivals, of="items")
