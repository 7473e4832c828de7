"""What cases share: ratings and models that are made once per process."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import dmrank
from dmrank import Model, Ratings, Split

#: Quick settings of every kind of model that is attacked, by the name of its class.
QUICK: dict[str, dict[str, Any]] = {
    "ItemMean": {},
    "Popularity": {},
    "MBPR": {"factors": 4, "iterations": 40, "evaluate_every": 20},
    "DMR": {"factors": 4, "iterations": 40, "evaluate_every": 20},
    "IALS": {"factors": 4, "iterations": 3},
    "EASE": {},
    "Cooccurrence": {},
    "MixedEffects": {"iterations": 3},
    "Hurdle": {"ials.iterations": 2, "mixedeffects.iterations": 2},
    "EFM": {"iterations": 4, "evaluate_every": 2},
    "MTER": {"factors": 4, "iterations": 40, "evaluate_every": 20},
    "PTF": {"factors": 4, "iterations": 40, "evaluate_every": 20},
}


@cache
def ratings() -> Ratings:
    """Return ratings of 40 users and 30 items."""
    return dmrank.make_ratings(40, 30, 500, aspects=["overall", "service", "value"], seed=1).ratings


@cache
def split() -> Split:
    """Return the same, split."""
    return ratings().split()


@cache
def model(name: str) -> Model:
    """Return a fitted model."""
    return getattr(dmrank, name)(**QUICK[name], seed=1, threads=1).fit(ratings())


def lists_wrong(lists: Any, known: Model) -> str | None:
    """Say what is wrong with lists, whatever model made them."""
    if not set(lists["item"]) <= set(known.catalogue.items):
        return "items that nobody knows"
    if not np.isfinite(lists["score"].to_numpy()).all():
        return "a score that is no finite number"
    for (user,), rows in lists.group_by("user", maintain_order=True):
        if rows["item"].n_unique() != len(rows):
            return f"an item twice for {user!r}"
        if not rows["score"].is_sorted(descending=True):
            return f"the list of {user!r} is not in the order of its scores"
        if rows["rank"].to_list() != list(range(1, len(rows) + 1)):
            return f"the ranks of {user!r} do not count from 1"
    return None
