"""Folding users and items into mixed effects: their posterior, with everything else held.

What was learned of a known user, N(m, V), is the prior of what new ratings say: those from before,
which no model stores, are not needed. One that is given anew takes the place of the old one, whose
value counts as the mean m has it: taking it away leaves m where it is, and the precision V⁻¹ loses
one part in so many as there were ratings of what lies beyond the precision of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.directional.packing import unpack
from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.support.arrays import Array, Arrays, Codes, Float32s, Floats, Int32s
from dmrank.training.effects.blocks import Side, find_patterns
from dmrank.training.effects.em import SMALLEST_VARIANCE
from dmrank.training.effects.noise_update import NoisePrior, noise_prior, update_noise
from dmrank.training.effects.own_noise import (
    OwnNoise,
    Posteriors,
    packed_matrix,
    update_effects_by,
)
from dmrank.training.effects.personal import mean_residuals
from dmrank.training.least_squares.item_weights import count_items, from_arrays

#: Effect and noise of a user are found in turns; after so many they stand.
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class EffectsFolding:
    """What of a model is held.

    Attributes
    ----------
    arrays : mapping of str to array
        What was learned; `user_noise` and `personal_strength` may be absent.
    noise_strength : float
        κ of the prior of a user's noise.
    threads : int or None
        Number of threads.
    """

    arrays: Arrays
    noise_strength: float
    threads: int | None

    def users(self, profiles: Profiles) -> dict[str, Array | NewRows]:
        """Return rows of the model's arrays for these users."""
        rated, side = _given(profiles)
        # Items have the level μ in them, and users the offsets from it.
        items = Posteriors(
            self.arrays["items"][rated].astype(np.float64), self.arrays["item_covariances"][rated]
        )
        before, prior = self._before("user", profiles)
        own, patterns = _no_effects(profiles), find_patterns(profiles.values)
        noise, of_noise = self._noise_before(profiles), self._noise_prior(profiles)
        left = profiles.values - before[noise.row_users]
        for _ in range(_ROUNDS if "user_noise" in self.arrays else 1):
            update_effects_by(
                noise, own, side, left, items.means, patterns, prior=prior, threads=self.threads
            )
            if "user_noise" in self.arrays:
                update_noise(noise, side, left, own, items, patterns, of_noise, self.threads)
        users = before + own.means
        learned: dict[str, Array | NewRows] = {"users": users, "user_covariances": own.covariances}
        if "user_noise" in self.arrays:
            learned["user_noise"] = noise.packed
        return learned | self._personal(profiles, users)

    def items(self, profiles: Profiles) -> dict[str, Array]:
        """Return rows of the model's arrays for these items."""
        raters, side = _given(profiles)
        # The rater of every rating: those of ratings from before play no part.
        of_rows = np.zeros(len(profiles.others), dtype=np.int32)
        of_rows[side.rows] = side.others
        noise = OwnNoise(self._common_noise(), np.zeros_like(of_rows))
        if "user_noise" in self.arrays:
            noise = OwnNoise(self.arrays["user_noise"][raters], of_rows)
        before, prior = self._before("item", profiles)
        own, level = _no_effects(profiles), self.arrays["level"]
        update_effects_by(
            noise,
            own,
            side,
            profiles.values - before[_numbers(profiles)],
            (self.arrays["users"][raters] + level).astype(np.float64),
            find_patterns(profiles.values),
            prior=prior,
            threads=self.threads,
        )
        return {"items": before + own.means + level, "item_covariances": own.covariances}

    def _before(self, one: Literal["user", "item"], profiles: Profiles) -> tuple[Floats, Floats]:
        """Return m and V⁻¹ of effects without the new ratings: 0 and Σ_a⁻¹ (or Σ_b⁻¹) if new."""
        size, K = len(profiles), profiles.values.shape[1]
        effects = self.arrays[f"{one}s"]
        means = np.zeros((size, K))
        prior = self.arrays[f"{one}_prior"].astype(np.float64)
        precisions = np.tile(np.linalg.inv(prior), (size, 1, 1))
        known = profiles.codes < len(effects)
        codes = profiles.codes[known]
        means[known] = effects[codes] - (self.arrays["level"] if one == "item" else 0)
        spread = unpack(self.arrays[f"{one}_covariances"][codes], K).astype(np.float64)
        gone = profiles.replaced_share[known, None, None]
        precisions[known] = (1 - gone) * np.linalg.inv(spread) + gone * precisions[known]
        return means, precisions

    def _common_noise(self) -> Float32s:
        return packed_matrix(self.arrays["noise"])[None]

    def _noise_before(self, profiles: Profiles) -> OwnNoise:
        """Return Σ_u as it is without new ratings: Σ_e, if the user is new."""
        noise = np.repeat(self._common_noise(), len(profiles), axis=0)
        if "user_noise" in self.arrays:
            known = profiles.codes < len(self.arrays["user_noise"])
            noise[known] = self.arrays["user_noise"][profiles.codes[known]]
        return OwnNoise(noise, _numbers(profiles))

    def _noise_prior(self, profiles: Profiles) -> NoisePrior:
        """Draw Σ_u to what it was, by κ and by how many ratings said so."""
        before = np.add.reduceat(~profiles.given, profiles.pointer[:-1], dtype=np.int64)
        centres = unpack(self._noise_before(profiles).packed, profiles.values.shape[1])
        return noise_prior(
            centres.astype(np.float64, order="C"), self.noise_strength + before, SMALLEST_VARIANCE
        )

    def _personal(self, profiles: Profiles, users: Floats) -> dict[str, Array | NewRows]:
        """Return what is left of the ratings of each user, after all that was left before.

        Rows of a known user are written anew, and the old ones no longer pointed to.
        """
        arrays = self.arrays
        weights = from_arrays(arrays, "personal_weights")
        if weights is None:
            return {}
        if "personal_strength" not in arrays:
            return self._no_personal(profiles)
        strength, own = float(arrays["personal_strength"][0]), profiles.rows
        numbers = _numbers(profiles)
        effects = users[numbers] + arrays["items"][profiles.others]
        left = strength * mean_residuals(profiles.values - effects)
        before = np.flatnonzero(~profiles.given)
        moved = users[numbers[before]] - arrays["users"][own[before]]
        left[before] = self._left_before(own[before], profiles.others[before])
        left[before] -= strength * moved.mean(axis=1)
        # The regression knows nothing of items that were folded in.
        kept = profiles.others < count_items(weights)
        counts = np.add.reduceat(kept, profiles.pointer[:-1], dtype=np.int64)
        first = len(arrays["personal_items"])
        ends = first + np.cumsum(counts)
        places = np.arange(first, ends[-1])
        return {
            "personal_spans": np.column_stack([ends - counts, ends]),
            "personal_items": NewRows(places, profiles.others[kept]),
            "personal_left": NewRows(places, left[kept]),
        }

    def _no_personal(self, profiles: Profiles) -> dict[str, Array | NewRows]:
        """Return where new users have nothing, in a file from before they could have something."""
        pointer = self.arrays["personal_pointer"]
        new = np.count_nonzero(profiles.codes >= max(len(pointer) - 1, 0))
        end = np.full(new, len(self.arrays["personal_items"]))
        return {"personal_pointer": NewRows(len(pointer) + np.arange(new), end)}

    def _left_before(self, users: Codes, items: Codes) -> Floats:
        """Return what was left of ratings when they were learned from; 0 if that is not known."""
        found = np.zeros(len(users))
        spans, known = self.arrays["personal_spans"], self.arrays["personal_items"]
        for n, (user, item) in enumerate(zip(users, items, strict=True)):
            start, end = spans[user]
            place = start + np.searchsorted(known[start:end], item)
            if place < end and known[place] == item:
                found[n] = self.arrays["personal_left"][place]
        return found


def _given(profiles: Profiles) -> tuple[Codes, Side]:
    """Return whom new ratings are of (or by), and these ratings as compiled code takes them."""
    rows = np.flatnonzero(profiles.given)
    others, places = np.unique(profiles.others[rows], return_inverse=True)
    pointer = np.append(0, np.cumsum(profiles.given))[profiles.pointer]
    return others, reading(Side(pointer, rows, places.astype(np.int32)))


def _numbers(profiles: Profiles) -> Int32s:
    """Return the number of the profile that each rating belongs to."""
    return np.repeat(np.arange(len(profiles), dtype=np.int32), profiles.counts)


def _no_effects(profiles: Profiles) -> Posteriors:
    size, K = len(profiles), profiles.values.shape[1]
    return Posteriors(np.zeros((size, K)), np.zeros((size, K * (K + 1) // 2), dtype=np.float32))
