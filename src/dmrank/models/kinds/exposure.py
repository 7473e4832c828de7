"""Exposure: who comes to what, as a weighted sum of standardised scores of several models.

    score_k(u, i) = Σ_m (w_km0 + w_km1 activity_u) z_m(u, i) + w_km2 squashed(z_m(u, i))

with z_m the score of member m by the primary aspect, standardised per user over all items with a
training rating, so that no filter changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmrank.fitted.catalogue import Catalogue
from dmrank.models.base import Model
from dmrank.models.ease import MOST_ITEMS
from dmrank.ranking.scoring import users_at_once
from dmrank.ranking.standardise import Share, add_standardised
from dmrank.support.arrays import Array, Codes, Float32s
from dmrank.support.progress import say
from dmrank.training.blending.contests import (
    PER_MEMBER,
    Activity,
    features,
)

#: The members that were best together on validation of three files (docs/results/beyond.md).
DEFAULT_MEMBERS: dict[str, dict[str, Any]] = {"ease": {}, "ials": {}, "cooccurrence": {}}
#: The most weights of EASE in a blend: 128 MB in its file.
_MOST_WEIGHTS = 16_000_000
#: The most weights of the personal part of preference, which matter less.
_MOST_PERSONAL = 4_000_000


def sized_members(members: Mapping[str, dict[str, Any]], n_items: int) -> dict[str, dict[str, Any]]:
    """Return what a blend of so many items is made of: EASE's weights grow with their square."""
    sized = dict(members)
    if "ease" in sized and n_items > MOST_ITEMS and len(sized) > 1:
        del sized["ease"]
        say(f"{n_items:,} items are too many for EASE: the blend goes without ({', '.join(sized)})")
    if "ease" in sized and n_items**2 > _MOST_WEIGHTS:
        sized["ease"] = {"weights_per_item": _MOST_WEIGHTS // n_items, **sized["ease"]}
    return sized


def sized_preference(parameters: Mapping[str, Any], n_items: int) -> dict[str, Any]:
    """Return the parameters of the preference of so many items: its personal part grows alike."""
    if n_items**2 <= _MOST_WEIGHTS:
        return dict(parameters)
    return {"personal_weights_per_item": _MOST_PERSONAL // n_items, **parameters}


@dataclass(frozen=True, eq=False)
class Exposure:
    """Fitted members and their weights.

    Attributes
    ----------
    models : dict of str to Model
        The members.
    weights : float32 array, K × 3M
        w of each aspect.
    activity : Activity
        How users are told apart by the number of their ratings.
    catalogue : Catalogue
        What the members know.
    """

    models: dict[str, Model]
    weights: Float32s
    activity: Activity
    catalogue: Catalogue

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Array], models: dict[str, Model], catalogue: Catalogue
    ) -> Exposure:
        """Take what `to_arrays` has kept."""
        mean, deviation = arrays["blend.activity"].tolist()
        return cls(models, arrays["blend.weights"], Activity(mean, deviation), catalogue)

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays that a model file keeps, beside those of the members."""
        return {
            "blend.weights": self.weights,
            "blend.activity": np.array(self.activity, dtype=np.float64),
        }

    @property
    def _rated(self) -> Codes:
        return np.flatnonzero(self.catalogue.rated_items)

    @property
    def threads(self) -> int | None:
        """Number of threads of the members."""
        return next(iter(self.models.values())).config.threads

    def activity_of(self, users: Codes) -> Float32s:
        """Return the activity of users."""
        pointer = self.catalogue.seen_pointer
        return self.activity(pointer[users + 1] - pointer[users])

    def standardised(self, users: Codes) -> list[Float32s]:
        """Return z of some users and all items, for each member."""
        ones = Share(np.ones(len(users), dtype=np.float32), np.float32(0))
        blocks = []
        for scores in self._scores(users):
            z = np.zeros_like(scores)
            add_standardised(z, scores, self._rated, ones, self.threads)
            blocks.append(z)
        return blocks

    def block(self, users: Codes, mix: Float32s) -> Float32s:
        """Return scores of some users and all items for a mix of aspects."""
        counts = (mix @ self.weights).reshape(-1, PER_MEMBER)
        activity, total = self.activity_of(users), None
        for scores, own in zip(self._scores(users), counts, strict=True):
            if total is None:
                total = np.zeros_like(scores)
            share = Share(own[0] + own[1] * activity, own[2])
            add_standardised(total, scores, self._rated, share, self.threads)
        assert total is not None
        return total

    def pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return scores of (user, item) pairs, one column per aspect."""
        scores = np.empty((len(users), len(self.weights)), dtype=np.float32)
        asked, row_of = np.unique(users, return_inverse=True)
        order = np.argsort(row_of, kind="stable")
        ends = np.searchsorted(row_of[order], np.arange(len(asked) + 1))
        at_once = users_at_once(len(self.catalogue.items))
        for start in range(0, len(asked), at_once):
            stop = min(start + at_once, len(asked))
            rows = order[ends[start] : ends[stop]]
            own = row_of[rows] - start
            z = np.stack([z[own, items[rows]] for z in self.standardised(asked[start:stop])], 1)
            x = features(z, self.activity_of(users[rows]))
            for k, weights in enumerate(self.weights):
                # A matrix product would round a row by how many others there are.
                scores[rows, k] = np.einsum("nf,f->n", x, weights)
        return scores

    def _scores(self, users: Codes) -> list[Float32s]:
        catalogue = self.catalogue
        primary = np.zeros(len(catalogue.aspects), dtype=np.float32)
        primary[catalogue.aspect(catalogue.primary_aspect)] = 1
        return [model.score_block(users, primary) for model in self.models.values()]
