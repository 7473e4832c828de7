"""A fitted model that is asked by the codes of another id map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dmrank.data.ids import Ids
from dmrank.data.rows import canonical_order
from dmrank.directional.families import Family
from dmrank.fitted.cache import Cache
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Vectors
from dmrank.support.arrays import Codes, Float32s, Floats, Int32s
from dmrank.support.errors import UnsupportedError


class Recoded(FittedModel):
    """Answers as a model does, by the codes of other ids.

    An id that the model does not know has the answers of any other: who asks has to know.

    Parameters
    ----------
    model : FittedModel
        The model.
    users, items : Ids
        Whose codes are used instead of the model's own.
    """

    def __init__(self, model: FittedModel, users: Ids, items: Ids) -> None:
        own = model.catalogue
        self._model, self._users, self._items = (
            model,
            _own_codes(own.users, users),
            _own_codes(own.items, items),
        )
        self.config, self.arrays, self.cache = model.config, model.arrays, Cache()
        self.calibration = replace(model.calibration, offset=model.calibration.offset[self._users])
        self._catalogue = _recoded(own, users, items)

    def learn(self, fitting: Fitting) -> None:
        """Refuse: what is fitted is the model itself."""
        del fitting
        raise UnsupportedError("a model that answers by other codes cannot be fitted")

    def scoring_vectors(self, weights: Float32s) -> Vectors | None:
        """Return the model's vectors in the order of the other codes."""
        vectors = self._model.scoring_vectors(weights)
        if vectors is None:
            return None
        return vectors._replace(users=vectors.users[self._users], items=vectors.items[self._items])

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        """Return the model's scores in the order of the other codes."""
        return self._model.score_block(self._users[users], weights)[:, self._items]

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return the model's scores of pairs."""
        return self._model.score_pairs(self._users[users], self._items[items])

    def list_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return the model's scores of pairs that lists are ranked by."""
        return self._model.list_pairs(self._users[users], self._items[items])

    def covariances(self, users: Codes, items: Codes) -> Floats | None:
        """Return the model's Σ_ui."""
        return self._model.covariances(self._users[users], self._items[items])

    def pair_covariances(self, users: Codes, first: Codes, second: Codes) -> Floats | None:
        """Return the model's Σ_uij."""
        return self._model.pair_covariances(
            self._users[users], self._items[first], self._items[second]
        )

    def family(self) -> Family:
        """Return the model's family."""
        return self._model.family()

    def aspect_relevance(self, users: Codes, items: Codes, aspect: int) -> Floats | None:
        """Return how much each aspect explains the model's ranking of pairs."""
        return self._model.aspect_relevance(self._users[users], self._items[items], aspect)


def _own_codes(own: Ids, others: Ids) -> Int32s:
    return np.maximum(own.find_all(others), 0).astype(np.int32)


def _recoded(catalogue: Catalogue, users: Ids, items: Ids) -> Catalogue:
    """Return the same memory by other codes, without names and evidence, which nobody asks."""
    new_users, new_items = users.find_all(catalogue.users), items.find_all(catalogue.items)
    seen_users = np.repeat(new_users, np.diff(catalogue.seen_pointer))
    seen_items = new_items[catalogue.seen_items]
    known = (seen_users >= 0) & (seen_items >= 0)
    seen_users, seen_items = seen_users[known], seen_items[known]
    order, pointer = canonical_order(seen_users, seen_items, len(users))
    return Catalogue(
        users=users,
        items=items,
        aspects=catalogue.aspects,
        primary_aspect=catalogue.primary_aspect,
        scale=catalogue.scale,
        item_names=None,
        seen_pointer=pointer,
        seen_items=seen_items[order].astype(np.int32),
    )
