"""How near is the aspect that a model names as its reason to the overall rating? (paper 4.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmrank.data.ratings import Split
from dmrank.evaluation.judged import asked_on
from dmrank.evaluation.warm_rows import WarmRows, warm_rows
from dmrank.fitted.contract import FittedModel
from dmrank.models.base import Model
from dmrank.support.arrays import Floats, Int64s
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.seeds import make_rng

#: Test rows that are explained at once.
_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class ExplanationError:
    """Absolute difference between the true primary rating and that of the selected aspect.

    Ratings are on the training scale 1–5.

    Attributes
    ----------
    skipped : float
        Mean over the rows whose selected aspect is rated; NaN if there is none.
    as_zero : float
        Mean over all rows, a selected aspect without a rating counted as rated 0 (the paper).
    rows, rated : int
        Test rows with a primary rating, and those of them whose selected aspect is rated.
    per_row_skipped, per_row_as_zero : float arrays
        The errors, one per row; NaN where skipped.
    """

    skipped: float
    as_zero: float
    rows: int
    rated: int
    per_row_skipped: Floats
    per_row_as_zero: Floats


def explanation_error(model: Model | None, split: Split, seed: int = 0) -> ExplanationError:
    """Let a model select the aspect that explains each test row, and compare it with the truth.

    Only rows of users and items with a training row and with a primary rating are asked, and the
    primary aspect itself is never selected. An aspect of which the model cannot tell is not
    selected; where it cannot tell of any, the selected aspect counts as unrated.

    Parameters
    ----------
    model : Model or None
        A fitted model that explains (see `explains`), or None for a random aspect.
    split : Split
        Judged on its test part.
    seed : int
        Of the random aspects.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> error = explanation_error(None, make_ratings(50, 20, 500, seed=1).ratings.split())
    >>> print(error.rows, error.rated, f"{error.skipped:.2f}")
    74 74 0.96
    """
    train = split.train
    primary = train.aspect(train.primary_aspect)
    if len(train.aspects) < 2:
        raise ConfigError(f"there is no aspect beside {train.primary_aspect!r} to explain it with")
    test = warm_rows(split)
    test = test.select(~np.isnan(test.values[:, primary]))
    if len(test.users) == 0:
        raise DataError(
            f"test has no rating on {train.primary_aspect!r} of a user and an item that training "
            "knows"
        )
    if model is None:
        selected = _random_aspects(len(test.users), len(train.aspects), primary, seed)
    else:
        asked = asked_on(model, train, test.users, test.items)
        selected = _most_relevant(asked, type(model).__name__, test, primary)
    return _error(test.values, primary, selected)


def explains(model: Model) -> bool:
    """Return whether a fitted model can tell which aspects matter.

    Examples
    --------
    >>> from dmrank import DMR, Popularity, make_ratings
    >>> ratings = make_ratings(50, 20, 500, seed=1).ratings
    >>> models = (Popularity(), DMR(iterations=1, threads=1))
    >>> [explains(model.fit(ratings)) for model in models]
    [False, True]
    """
    primary = model.catalogue.aspect(model.catalogue.primary_aspect)
    anyone = np.zeros(1, dtype=np.int32)
    return model.aspect_relevance(anyone, anyone, primary) is not None


def _random_aspects(rows: int, aspects: int, primary: int, seed: int) -> Int64s:
    others = np.delete(np.arange(aspects), primary)
    return make_rng(seed).choice(others, size=rows)


def _most_relevant(model: FittedModel, name: str, test: WarmRows, primary: int) -> Int64s:
    """Return the most relevant aspect of each row beside the primary, −1 if none is known."""
    selected = np.empty(len(test.users), dtype=np.int64)
    for start in range(0, len(selected), _BLOCK):
        rows = slice(start, start + _BLOCK)
        relevance = model.aspect_relevance(test.users[rows], test.items[rows], primary)
        if relevance is None:
            raise ConfigError(
                f"{name} does not explain its rankings: give a model that does, "
                "such as DMR, EFM or MTER"
            )
        known = np.where(np.isnan(relevance), -np.inf, relevance)
        known[:, primary] = -np.inf
        best = known.argmax(axis=1)
        selected[rows] = np.where(np.isneginf(known.max(axis=1)), -1, best)
    return selected


def _error(values: Floats, primary: int, selected: Int64s) -> ExplanationError:
    truth = np.where(selected < 0, np.nan, values[np.arange(len(values)), selected])
    skipped = np.abs(values[:, primary] - truth)
    as_zero = np.abs(values[:, primary] - np.nan_to_num(truth))
    rated = ~np.isnan(skipped)
    return ExplanationError(
        skipped=float(skipped[rated].mean()) if rated.any() else float("nan"),
        as_zero=float(as_zero.mean()),
        rows=len(values),
        rated=int(rated.sum()),
        per_row_skipped=skipped,
        per_row_as_zero=as_zero,
    )
