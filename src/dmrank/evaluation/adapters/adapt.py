"""`dmrank.adapt`: whatever scores or lists items, made ready to be judged beside our models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from dmrank.data.reading.opening import is_table_like
from dmrank.evaluation.adapters.adapted import Adapted, AdaptedFunction, AdaptedScores
from dmrank.evaluation.adapters.libraries import LIBRARIES, library_of
from dmrank.evaluation.adapters.lists import adapt_lists
from dmrank.evaluation.adapters.matrices import adapt_matrix
from dmrank.support.errors import ConfigError


def adapt(
    model: Any,
    *,
    users: Iterable[object] | None = None,
    items: Iterable[object] | None = None,
    data: Any = None,
) -> Adapted:
    """Make another library's model, or its results, ready to be judged beside our models.

    What it returns stands in `evaluate`, `rated_pairs` and `any_pairs` like a model. It has one
    score per user and item, by which every aspect is ranked. Ids are matched as text, so that 12
    is "12".

    Parameters
    ----------
    model : fitted model, matrix, table or callable
        - A fitted model of implicit, Cornac, RecTools, LensKit (a pipeline) or Surprise.
        - A matrix of scores, users × items, of NumPy or SciPy; what a sparse one does not store
          is 0.
        - A table of lists (polars, pandas, Arrow or a file) with the columns user, item and rank
          (from 1) or score; what a list does not name comes last.
        - A callable that takes two arrays of ids, user and item of each pair, and returns a score
          for each.
    users, items : iterable of ids, optional
        Of a matrix, and of a model of implicit: the ids of its rows and columns.
    data : object, optional
        What a model was fitted on: the Dataset of RecTools or LensKit, or the matrix of a
        nearest-neighbour model of implicit.

    Examples
    --------
    >>> import dmrank
    >>> split = dmrank.make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> scores = np.random.default_rng(0).random((200, 50))
    >>> chance = adapt(scores, users=split.train.users, items=split.train.items)
    >>> popular = dmrank.Popularity().fit(split.train)
    >>> models = {"popular": popular, "by chance": chance, "last": lambda users, items: items > "h"}
    >>> dmrank.evaluate(models, split, metrics=["ndcg@10"]).significance()[0].best
    'popular'
    """
    if isinstance(model, AdaptedScores | AdaptedFunction):
        return model
    library = library_of(model)
    make: Callable[..., Adapted]
    takes: Sequence[str]
    given = {"users": users, "items": items, "data": data}
    if library is not None:
        make, takes = LIBRARIES[library]
    elif isinstance(model, np.ndarray) or sparse.issparse(model):
        make, takes = adapt_matrix, ("users", "items")
    elif is_table_like(model):
        make, takes = adapt_lists, ()
    elif callable(model):
        make, takes = _adapt_function, ()
    else:
        raise ConfigError(
            f"{type(model).__name__} is nothing that can be judged: give a fitted model, a matrix "
            "of scores, a table of lists, or a function of user and item ids"
        )
    for name, value in given.items():
        if value is not None and name not in takes:
            raise ConfigError(f"{name}= says nothing to a {type(model).__name__}: leave it out")
    return make(model, **{name: given[name] for name in takes})


def _adapt_function(function: Any) -> AdaptedFunction:
    return AdaptedFunction(getattr(function, "__name__", type(function).__name__), function)
