"""Whether a model was fitted on the training part of a split, and on nothing of its test part."""

from __future__ import annotations

import numpy as np

from dmrank.data.ratings import Ratings, Split
from dmrank.models.base import Model
from dmrank.support.arrays import Codes
from dmrank.support.errors import DataError
from dmrank.training.held_out import codes_in


def check_fitted_on(name: str, model: Model, train: Ratings) -> None:
    """Refuse a model that has other users, items or aspects than the training ratings."""
    catalogue = model.catalogue
    if catalogue.users != train.users or catalogue.items != train.items:
        raise _other_ids(name)
    if catalogue.aspects != train.aspects:
        raise DataError(
            f"{name} was fitted on the aspects {', '.join(catalogue.aspects)}, but the split "
            f"has {', '.join(train.aspects)}: fit it on split.train"
        )


def check_has_not_seen(name: str, model: Model, users: Codes, items: Codes) -> None:
    """Refuse a model that was trained on any of these (user, item) pairs, given by its codes."""
    catalogue = model.catalogue
    n_items = len(catalogue.items)
    raters = np.repeat(np.arange(len(catalogue.users)), np.diff(catalogue.seen_pointer))
    seen = raters * n_items + catalogue.seen_items
    asked = users.astype(np.int64) * n_items + items
    if np.isin(asked, seen).any():
        raise DataError(f"{name} has seen test ratings in training: fit it on split.train")


def with_ids_of(name: str, model: Model, split: Split) -> Split:
    """Give a split the codes of a model, whose file may know the ids of its training rows alone.

    Rows of other users or items are left out of every metric anyway: training has none of them.
    """
    users, items = model.catalogue.users, model.catalogue.items
    if (users, items) == (split.train.users, split.train.items):
        return split

    def coded(part: Ratings) -> Ratings:
        user_codes, item_codes = codes_in(users, items, part)
        known = (user_codes >= 0) & (item_codes >= 0)
        return Ratings.from_codes(
            users,
            items,
            user_codes[known],
            item_codes[known],
            part.values[known],
            aspects=part.aspects,
            scale=part.scale,
        )

    parts = Split(coded(split.train), coded(split.validation), coded(split.test))
    if len(parts.train) < len(split.train):
        raise _other_ids(name)
    return parts


def _other_ids(name: str) -> DataError:
    return DataError(
        f"{name} was fitted on other users or items than the split has: fit it on split.train"
    )
