"""Whether a model was fitted on the training part of a split, and on nothing of its test part."""

from __future__ import annotations

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.data.rows import groups_of_rows
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.recoded import Recoded
from dmrank.support.arrays import Codes
from dmrank.support.errors import DataError

#: What models saw of the users of so many pairs is looked at together: of millions, not of all.
_PAIRS_AT_ONCE = 65_536


def by_codes_of(name: str, model: FittedModel, train: Ratings) -> FittedModel:
    """Return a model as it is asked by the codes of the training ratings of a split.

    A model that was fitted apart, such as one from a file, may know other ids beside those of its
    training rows, or fewer. Refused is a model that lacks a user or an item with a training row, or
    has other aspects.
    """
    catalogue = model.catalogue
    if catalogue.aspects != train.aspects:
        raise DataError(
            f"{name} was fitted on the aspects {', '.join(catalogue.aspects)}, but the split "
            f"has {', '.join(train.aspects)}: fit it on split.train"
        )
    if (catalogue.users, catalogue.items) == (train.users, train.items):
        return model
    trained_users = train.users.take(np.flatnonzero(np.diff(train.user_pointer)))
    trained_items = train.items.take(np.unique(train.item_codes))
    for ids, trained in ((catalogue.users, trained_users), (catalogue.items, trained_items)):
        if (ids.find_all(trained) < 0).any():
            raise DataError(
                f"{name} was fitted on other users or items than the split has: fit it on "
                "split.train"
            )
    return Recoded(model, train.users, train.items)


def check_has_not_seen(name: str, model: FittedModel, users: Codes, items: Codes) -> None:
    """Refuse a model that was trained on any of these (user, item) pairs, given by its codes."""
    for start in range(0, len(users), _PAIRS_AT_ONCE):
        pairs = slice(start, start + _PAIRS_AT_ONCE)
        if _has_seen(model.catalogue, users[pairs], items[pairs]):
            raise DataError(f"{name} has seen test ratings in training: fit it on split.train")


def _has_seen(catalogue: Catalogue, users: Codes, items: Codes) -> bool:
    askers, asker = np.unique(users, return_inverse=True)
    pointer, seen_items = catalogue.seen_by(askers)
    n_items = len(catalogue.items)
    seen = groups_of_rows(pointer) * np.int64(n_items) + seen_items
    return bool(np.isin(asker * n_items + items, seen).any())
