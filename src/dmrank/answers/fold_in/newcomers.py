"""Newcomers by themselves: folded into a model that has forgotten everybody else."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.evidence import Evidence
from dmrank.fitted.profiles import make_profiles

ModelT = TypeVar("ModelT", bound=FittedModel)


def without_users(model: ModelT) -> ModelT | None:
    """Return the same model without its users; None: it cannot fold in any others.

    To fold somebody in is to copy every array that has a row per user, of which a million may be
    known. Where only the newcomer is asked about, none of them is needed: folded into this model,
    whose arrays share everything else, newcomers get the answers that they would get there.

    Parameters
    ----------
    model : FittedModel
        A fitted model.

    Examples
    --------
    >>> from dmrank import ItemMean, make_ratings
    >>> model = ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings)
    >>> given = [{"user": "new", "item": "h000003", "overall": 5}]
    >>> alone, among = without_users(model).fold_in(given), model.fold_in(given)
    >>> len(alone.users), len(among.users)
    (1, 51)
    >>> alone.recommend("new").equals(among.recommend("new"))
    True
    """
    catalogue, calibration = model.catalogue, model.calibration
    # What a newcomer adds rows to has none of anybody else; the contract has it that the rest
    # is held.
    anyone = make_profiles(
        np.array([len(catalogue.users)]),
        np.flatnonzero(catalogue.rated_items)[:1],
        np.full((1, len(catalogue.aspects)), 3, dtype=np.float32),
    )
    of_users = model.fold_in_users(anyone)
    if of_users is None:
        return None
    return model.with_state(
        _without_users(catalogue),
        {name: array[:0] if name in of_users else array for name, array in model.arrays.items()},
        replace(calibration, offset=calibration.offset[:0]),
    )


def _without_users(catalogue: Catalogue) -> Catalogue:
    evidence = catalogue.evidence
    if evidence is not None:
        names = {"user_means", "user_counts"}
        evidence = Evidence(
            {name: array[:0] if name in names else array for name, array in evidence.arrays.items()}
        )
    nobody = replace(
        catalogue,
        users=catalogue.users.first(0),
        seen_pointer=catalogue.seen_pointer[:1],
        seen_items=catalogue.seen_items[:0],
        evidence=evidence,
    )
    # Which items were rated is known of everybody together.
    vars(nobody)["rated_items"] = catalogue.rated_items
    return nobody
