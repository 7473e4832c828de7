"""What can be judged: our models, and whatever else scores items, asked by the codes of a split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from dmrank.data.ratings import Ratings
from dmrank.evaluation.adapters.adapt import adapt
from dmrank.evaluation.fitted_on import by_codes_of, check_has_not_seen
from dmrank.fitted.contract import FittedModel
from dmrank.models.base import Model
from dmrank.support.arrays import Codes

#: A fitted model, or anything that `dmrank.adapt` takes without further words.
Judged: TypeAlias = Model | Any


def name_of(judged: Judged) -> str:
    """Return what to call it in reports and errors, if nobody gave it a name."""
    return type(judged).__name__ if isinstance(judged, FittedModel) else adapt(judged).name


def asked_on(
    judged: Judged, train: Ratings, users: Codes, items: Codes, name: str | None = None
) -> FittedModel:
    """Return what is to be judged as it is asked by the codes of training ratings.

    Refused is what was fitted on other ratings, or on any of the held-out (user, item) pairs.
    """
    shown = name_of(judged) if name is None else name
    if isinstance(judged, FittedModel):
        asked = by_codes_of(shown, judged, train)
    else:
        asked = replace(adapt(judged), name=shown).on(train, users)
    check_has_not_seen(shown, asked, users, items)
    return asked
