"""Folding users and items into DMR: their factors and Σ, with everything else held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmrank.answers.fold_in.estimation import OwnCovariance, estimate
from dmrank.answers.fold_in.linear import (
    LinearPairs,
    before_folding,
    linear_in_item,
    linear_in_user,
)
from dmrank.answers.fold_in.pairs import (
    Factors,
    RatingsOf,
    Sampling,
    draw_item_pairs,
    draw_user_pairs,
)
from dmrank.data.ratings import Side
from dmrank.data.training_scale import to_training_scale
from dmrank.directional.families import Family
from dmrank.directional.packing import pack, unpack
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.profiles import Profile, Profiles
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.training.pairwise.dmr_settings import CovariancePrior

#: As in `training.means.item_means`.
_PSEUDO_RATINGS = 5.0


@dataclass(frozen=True)
class DirectionalFolding:
    """What of a DMR is held while a user or an item is estimated.

    Attributes
    ----------
    factors : Factors
        U, V, W and offsets.
    user_covariances, item_covariances : float32 arrays
        Σ_u and Σ_i, packed; see `training.data.Parameters`.
    personalized : bool
        Whether every user and item has one.
    user_weight : float
        λ.
    prior : CovariancePrior
        Of every Σ.
    family : Family
        Of the density.
    regularization : pair of float
        Of U and V.
    nonnegative : bool
        Whether factors are.
    sampling : Sampling
        Of pairs.
    """

    factors: Factors
    user_covariances: Float32s
    item_covariances: Float32s
    personalized: bool
    user_weight: float
    prior: CovariancePrior
    family: Family
    regularization: tuple[float, float]
    nonnegative: bool
    sampling: Sampling

    def users(self, profiles: Profiles) -> dict[str, Float32s]:
        """Return rows of the model's arrays for these users."""
        return self._rows("users", profiles, [self.user(profile) for profile in profiles])

    def items(
        self, profiles: Profiles, catalogue: Catalogue, ratings_of: RatingsOf
    ) -> dict[str, Float32s]:
        """Return rows of the model's arrays for these items; see `item`."""
        offsets = np.zeros((len(profiles), len(catalogue.aspects)))
        if len(self.factors.offsets):
            offsets = folded_offsets(profiles, self.factors.offsets, catalogue)
        found = [
            self.item(profile, offset, catalogue, ratings_of)
            for profile, offset in zip(profiles, offsets, strict=True)
        ]
        learned = self._rows("items", profiles, found)
        if len(self.factors.offsets):
            learned["offsets"] = offsets.astype(np.float32)
        return learned

    def user(self, profile: Profile) -> tuple[Floats, Floats | None]:
        """Return factors and covariance of a user."""
        rng = np.random.default_rng(self.sampling.seed)

        def draw(x: Floats, count: int) -> LinearPairs:
            pairs = draw_user_pairs(profile, self.factors, x, count, self.sampling, rng)
            return linear_in_user(pairs, self.factors, self._of_items(pairs.first, pairs.second))

        start = before_folding(self.factors.users, profile.code)
        share = 2 * self.user_weight
        own = self._own(self.user_covariances, profile, share, len(profile.others))
        return self._estimate(draw, start, self.regularization[0], own)

    def item(
        self,
        profile: Profile,
        offset: Floats,
        catalogue: Catalogue,
        ratings_of: RatingsOf,
    ) -> tuple[Floats, Floats | None]:
        """Return factors and covariance of an item with a given offset.

        `ratings_of` predicts ratings on the training scale, in place of those that a model does
        not store.
        """
        rng = np.random.default_rng(self.sampling.seed)

        def draw(x: Floats, count: int) -> LinearPairs:
            del x  # which pairs are drawn does not depend on the factors of the item
            pairs = draw_item_pairs(profile, catalogue, ratings_of, count, self.sampling, rng)
            known = self._of_user_and_item(pairs.users, pairs.others)
            return linear_in_item(pairs, self.factors, known, offset)

        start = before_folding(self.factors.items, profile.code)
        times = len(profile.others) + len(catalogue.seen_items) / len(catalogue.items)
        own = self._own(self.item_covariances, profile, 1 - self.user_weight, times)
        return self._estimate(draw, start, self.regularization[1], own)

    def _estimate(
        self,
        draw: Callable[[Floats, int], LinearPairs],
        start: Floats,
        regularization: float,
        own: OwnCovariance | None,
    ) -> tuple[Floats, Floats | None]:
        return estimate(
            draw,
            start,
            self.family,
            np.full(len(start), regularization),
            own,
            nonnegative=self.nonnegative,
            hard_negatives=self.sampling.hard_negatives > 1,
        )

    def _own(
        self, packed: Float32s, profile: Profile, share: float, ratings: float
    ) -> OwnCovariance | None:
        if not self.personalized or share == 0:
            return None
        strength = self.prior.degrees_of_freedom + len(self.prior.scale) + 1
        return OwnCovariance(
            start=self._before(packed, profile.code),
            share=share,
            prior_scale=self.prior.scale,
            prior_strength=strength,
            ratings=ratings,
        )

    def _before(self, packed: Float32s, code: int) -> Floats:
        """Return Σ as it is without new ratings: the mode of the prior, if it is new."""
        size = len(self.prior.scale)
        if code < len(packed):
            return _unpack(packed[[code]], size)[0]
        return self.prior.scale / (self.prior.degrees_of_freedom + size + 1)

    def _rows(
        self, side: Side, profiles: Profiles, found: list[tuple[Floats, Floats | None]]
    ) -> dict[str, Float32s]:
        """Return what was found as rows of the model's arrays."""
        learned: dict[str, Float32s] = {}
        learned[side] = np.array([factors for factors, _ in found], dtype=np.float32)
        if self.personalized:
            packed = self.user_covariances if side == "users" else self.item_covariances
            covariances = [
                self._before(packed, int(code)) if covariance is None else covariance
                for code, (_, covariance) in zip(profiles.codes, found, strict=True)
            ]
            one = side[:-1]
            learned[f"{one}_covariances"] = np.array([pack(sigma) for sigma in covariances])
            learned[f"{one}_roots"] = np.array(
                [pack(np.linalg.cholesky(sigma)) for sigma in covariances]
            )
        return learned

    def _of_items(self, first: Codes, second: Codes) -> Floats:
        """Return what of Σ_uij does not belong to the user."""
        if not self.personalized:
            return self._same_for_all(len(first))
        size = len(self.prior.scale)
        items = self.item_covariances
        return (1 - self.user_weight) * (_unpack(items[first], size) + _unpack(items[second], size))

    def _of_user_and_item(self, users: Codes, others: Codes) -> Floats:
        """Return what of Σ_uij does not belong to one of the items."""
        if not self.personalized:
            return self._same_for_all(len(users))
        size, weight = len(self.prior.scale), self.user_weight
        of_users = _unpack(self.user_covariances[users], size)
        return 2 * weight * of_users + (1 - weight) * _unpack(self.item_covariances[others], size)

    def _same_for_all(self, pairs: int) -> Floats:
        size = len(self.prior.scale)
        shared = _unpack(self.user_covariances, size)[0] if len(self.user_covariances) else None
        return np.tile(2 * (np.eye(size) if shared is None else shared), (pairs, 1, 1))


def folded_offsets(profiles: Profiles, offsets: Float32s, catalogue: Catalogue) -> Floats:
    """Return the offsets of items: a new one's is its user-adjusted mean, where offsets start."""
    found = np.zeros((len(profiles), offsets.shape[1]))
    for n, profile in enumerate(profiles):
        if profile.code < len(offsets):
            found[n] = offsets[profile.code]
        else:
            left = profile.values - _levels(profile.others, catalogue)[:, None]
            known = ~np.isnan(left)
            found[n] = np.nansum(left, axis=0) / (known.sum(axis=0) + _PSEUDO_RATINGS)
    return found


def _levels(users: Codes, catalogue: Catalogue) -> Floats:
    """Return the mean rating of users over all aspects, on the training scale."""
    if catalogue.evidence is None:
        return np.full(len(users), 3.0)
    counts = catalogue.evidence.user_counts[users]
    means = to_training_scale(catalogue.evidence.user_means[users], catalogue.scale)
    total = np.where(counts > 0, counts * np.nan_to_num(means), 0).sum(axis=1)
    return np.asarray(total / np.maximum(counts.sum(axis=1), 1))


def _unpack(packed: Float32s, size: int) -> Floats:
    return unpack(packed, size).astype(np.float64)
