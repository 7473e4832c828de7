"""The facts of a model card, as values that JSON can write."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np

from dmrank.answers.recommend import ListRequest, recommend
from dmrank.data.activity import activity_groups
from dmrank.data.rows import has_rows
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.record import FitRecord
from dmrank.support.version import __version__

#: Lists of so many items, for at most so many users, tell which items are ever listed.
_PLACES = 10
_MOST_USERS = 2_000

Facts = dict[str, Any]


def card_facts(model: FittedModel, parameters: Mapping[str, Any], file: str | None) -> Facts:
    """Collect what a card tells; None where it is not known.

    Parameters
    ----------
    model : FittedModel
        A fitted model.
    parameters : mapping of str to JSON value
        All its parameters.
    file : str or None
        The name of its file, to be shown in how to load it.
    """
    record, catalogue = model.record, model.catalogue
    return {
        "model": type(model).__name__,
        "summary": (inspect.getdoc(type(model)) or "").partition("\n")[0],
        "file": file,
        "library": {"fitted_with": record.library, "described_with": __version__},
        "training": _training(record, catalogue),
        "folded_in": _folded_in(record, catalogue),
        "parameters": dict(parameters),
        "validation": None if record.validation is None else record.validation.model_dump(),
        "calibration": _calibration(model),
        "activity": _activity(catalogue),
        "coverage": _coverage(model),
        "not_known": list(_not_known(record, catalogue)),
    }


def _training(record: FitRecord, catalogue: Catalogue) -> Facts:
    missing = _missing(record, catalogue)
    return {
        **_counts(record, catalogue),
        "primary_aspect": catalogue.primary_aspect,
        "aspects": [
            {"aspect": name, "low": _number(low), "high": _number(high), "missing": share}
            for name, (low, high), share in zip(
                catalogue.aspects, catalogue.scale, missing, strict=True
            )
        ],
        "fingerprint": record.fingerprint,
        "first_rating": record.first,
        "last_rating": record.last,
        "iterations": record.iterations,
        "stopped": record.stopped or None,
    }


def _counts(record: FitRecord, catalogue: Catalogue) -> dict[str, int]:
    """Return how much was trained on; of an older file, how much the model knows by now."""
    known = _known(catalogue)
    noted = {name: getattr(record, name) for name in known}
    return known if None in noted.values() else noted


def _known(catalogue: Catalogue) -> dict[str, int]:
    return {
        "users": int(has_rows(catalogue.seen_pointer).sum()),
        "items": int(catalogue.rated_items.sum()),
        "ratings": len(catalogue.seen_items),
    }


def _folded_in(record: FitRecord, catalogue: Catalogue) -> dict[str, int] | None:
    if record.ratings is None:
        return None
    trained = _counts(record, catalogue)
    return {name: count - trained[name] for name, count in _known(catalogue).items()}


def _missing(record: FitRecord, catalogue: Catalogue) -> list[float | None]:
    """Return the share of rating vectors without each aspect; an older file has counts of them."""
    if record.missing is not None and len(record.missing) == len(catalogue.aspects):
        return list(record.missing)
    if catalogue.evidence is None:
        return [None] * len(catalogue.aspects)
    given = catalogue.evidence.user_counts.sum(axis=0) / max(len(catalogue.seen_items), 1)
    return [_number(1 - share) for share in given]


def _calibration(model: FittedModel) -> Facts:
    known = model.calibration
    return {
        "scores_are_ratings": model.scores_are_ratings,
        "aspects": [
            {"aspect": name, "intercept": _number(a), "slope": _number(b)}
            for name, a, b in zip(
                model.catalogue.aspects, known.intercept, known.slope, strict=True
            )
        ],
        "user_offset_deviation": _number(known.offset.std()),
        "covariance_factor": _number(known.covariance_factor[0]),
        "order_factor": _number(known.order_factor[0]),
    }


def _activity(catalogue: Catalogue) -> list[Facts]:
    """Return how many users have few and how many have many training ratings."""
    counts = np.diff(catalogue.seen_pointer)
    total = max(int((counts > 0).sum()), 1)
    return [
        {"group": label, "users": int(of.sum()), "share": int(of.sum()) / total}
        for label, of in activity_groups(counts)
    ]


def _coverage(model: FittedModel) -> Facts:
    """Return the share of the items that are in a list by the primary aspect of any user."""
    catalogue = model.catalogue
    active = np.flatnonzero(np.diff(catalogue.seen_pointer))
    if len(active) > _MOST_USERS:
        active = np.random.default_rng(0).choice(active, _MOST_USERS, replace=False)
    lists = recommend(model, catalogue.users.take(np.sort(active)), ListRequest(_PLACES))
    items = int(catalogue.rated_items.sum())
    return {
        "places": _PLACES,
        "users": len(active),
        "items": items,
        "listed": lists["item"].n_unique(),
        "share": lists["item"].n_unique() / max(items, 1),
    }


def _not_known(record: FitRecord, catalogue: Catalogue) -> Iterator[str]:
    """Say what a reader would want to know and nobody noted."""
    if record.fingerprint is None:
        yield (
            "the model was written by a version of dmrank that did not note its fit: the "
            "fingerprint and the dates of its training ratings, its iterations, whether validation "
            "ratings were held out, and the figures on them"
        )
        yield "whether its counts include users and items that were folded in after training"
    elif record.validation is None:
        yield "how well it ranks: no validation ratings were given to fit"
    if record.fingerprint is not None and record.first is None:
        yield "when its training ratings were given: they had no timestamps"
    if None in _missing(record, catalogue):
        yield "which share of the ratings lacks each aspect"
    yield "who the users are, and whether the ratings were collected with their consent"


def _number(value: Any) -> float | None:
    """Return a number as JSON has it, with as many digits as float32 has."""
    return float(f"{value:.7g}") if isfinite(value) else None
