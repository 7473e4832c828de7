"""The contract of a model: every hook that one may implement, and what answers ask of it.

A model of one's own implements `learn` and, if its scores are dot products, `scoring_vectors`,
else `score_block`. That is enough to be fitted, saved, asked for lists and evaluated; every other
hook has a default, and says what its answer makes possible. A hook sees codes and arrays, never an
external id; ratings are on the training scale 1–5, with NaN where an aspect is missing.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import ClassVar, Protocol, Self, TypeAlias

import numpy as np

from dmrank.directional.families import Family, Gaussian
from dmrank.directional.packing import unpack
from dmrank.fitted.cache import Cache
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.mixed_lists import MixedLists, OneScoreLists, VectorLists
from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.fitted.record import FitRecord, ValidationRecord
from dmrank.fitted.scorers import Blocks, MixVectors, Ranker, Scorer, Vectors, make_ranker
from dmrank.fitted.sizes import Sizes
from dmrank.ranking import item_columns
from dmrank.ranking.scoring import score_rows
from dmrank.support.arrays import Array, Codes, Float32s, Floats
from dmrank.support.errors import ConfigError, NotFittedError, UnsupportedError
from dmrank.support.layouts import Layout

#: The most that an aspect can count: squares of scores have to stay numbers in float32.
_MOST_WEIGHT = 1e9
#: An aspect, a mix of aspects, or None for the primary one.
By: TypeAlias = str | Mapping[str, float] | None


class Settings(Protocol):
    """What is asked of the parameters of every model."""

    @property
    def seed(self) -> int:
        """Same seed, same result."""

    @property
    def threads(self) -> int | None:
        """Number of threads; None: every core."""


class FittedModel(ABC):
    """What a model has learned, and the hooks through which it is asked.

    Attributes
    ----------
    config : Settings
        The parameters.
    arrays : dict of str to array
        Everything that was learned, by name: what a model file keeps. Set by `learn`.
    catalogue : Catalogue
        What the model remembers of its training ratings.
    calibration : Calibration
        How scores become ratings.
    record : FitRecord
        What is known of the fit.
    cache : Cache
        What was made of the arrays for one question and is kept for the next.
    """

    config: Settings
    arrays: dict[str, Array]
    calibration: Calibration
    record: FitRecord
    cache: Cache
    _catalogue: Catalogue | None

    # Hooks: what every model implements.

    @abstractmethod
    def learn(self, fitting: Fitting) -> None:
        """Learn, and put everything that was learned into `self.arrays`."""

    def scoring_vectors(self, weights: Float32s) -> Vectors | None:  # noqa: ARG002
        """Return vectors whose dot products are the scores for a mix of aspects, if there are."""
        return None

    def mix_vectors(self) -> MixVectors | None:
        """Return vectors of items that do for every mix of aspects, if there are.

        With them, lists by different mixes are made at once, and a mix never seen costs no more.
        """
        return None

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        """Return scores (users × all items) for a mix of aspects; needed without vectors."""
        vectors = self.scoring_vectors(weights)
        if vectors is None:
            raise NotImplementedError(
                f"{type(self).__name__} implements neither scoring_vectors nor score_block"
            )
        columns = self.cache(
            ("columns of a block", weights.tobytes()),
            lambda: np.ascontiguousarray(vectors.items.T, dtype=np.float32),
        )
        return score_rows(vectors.of_users(users), columns, self.config.threads)

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return the scores of (user, item) pairs, one column per aspect."""
        each_aspect = np.eye(len(self.catalogue.aspects), dtype=np.float32)
        columns = [self.scorer(weights).of_pairs(users, items) for weights in each_aspect]
        return np.column_stack(columns)

    def list_pairs(self, users: Codes, items: Codes) -> Float32s:
        """Return the scores of pairs that lists are ranked by; by default those of `score_pairs`.

        They differ where a list says who comes to an item as well as how it will be liked.
        """
        return self.score_pairs(users, items)

    #: Whether scores are ratings on the training scale, which need no calibration.
    scores_are_ratings: ClassVar[bool] = False

    def layout(self, sizes: Sizes) -> Layout | None:  # noqa: ARG002
        """Return what each of its arrays must be when a file is read.

        None: the model does not say. Its arrays are then checked by their checksums alone, and it
        has to bear whatever a file holds.
        """
        return None

    # Hooks: what makes more answers possible.

    def covariances(self, users: Codes, items: Codes) -> Floats | None:
        """Return Σ_ui of (user, item) pairs, n × K × K, not calibrated; None: there is none.

        With it: probabilities and confidence in `compare`, `correlation`, `complete`.
        """
        return self._unpacked(self.packed_covariances(users, items))

    def pair_covariances(self, users: Codes, first: Codes, second: Codes) -> Floats | None:
        """Return Σ_uij of the difference of two ratings of one user; by default Σ_ui + Σ_uj."""
        packed = self.packed_pairs(users, first, second)
        if packed is not None:
            return self._unpacked(packed)
        one, other = self.covariances(users, first), self.covariances(users, second)
        return None if one is None or other is None else one + other

    def packed_covariances(
        self,
        users: Codes,  # noqa: ARG002
        items: Codes,  # noqa: ARG002
    ) -> Floats | None:
        """Return Σ_ui as `directional.packing` has it, of a model that keeps it so.

        Instead of `covariances`: rows of lists ask for nothing but wᵀ Σ w, and fast.
        """
        return None

    def packed_pairs(self, users: Codes, first: Codes, second: Codes) -> Floats | None:
        """Return Σ_uij in the same way; by default Σ_ui + Σ_uj."""
        one = self.packed_covariances(users, first)
        other = self.packed_covariances(users, second)
        return None if one is None or other is None else one + other

    def _unpacked(self, packed: Floats | None) -> Floats | None:
        return None if packed is None else unpack(packed, len(self.catalogue.aspects))

    def family(self) -> Family:
        """Return the family of the density whose covariance Σ_ui is."""
        return Gaussian()

    def aspect_relevance(
        self,
        users: Codes,  # noqa: ARG002
        items: Codes,  # noqa: ARG002
        aspect: int,  # noqa: ARG002
    ) -> Floats | None:
        """Return how much each aspect (columns) explains the ranking of pairs by one of them.

        NaN: the model cannot tell of that aspect. None: it cannot tell of any, nor `explain`.
        """
        return None

    def fold_in_users(
        self,
        profiles: Profiles,  # noqa: ARG002
    ) -> Mapping[str, Array | NewRows] | None:
        """Return, for each array with a row per user, the rows of these users.

        Of an array that has other rows, return which are new. Everything else that was learned is
        held, and what is named here is of users alone: a service that folds a newcomer in by
        themselves leaves all rows of these arrays out. None: the model cannot, nor `fold_in`.
        """
        return None

    def fold_in_items(
        self,
        profiles: Profiles,  # noqa: ARG002
    ) -> Mapping[str, Array | NewRows] | None:
        """Return, for each array with a row per item, the rows of these items; None: it cannot."""
        return None

    @property
    def preference(self) -> float | None:
        """Share t of preference in lists; None: the model has one score for lists."""
        return None

    def with_preference(self, preference: float) -> Self:  # noqa: ARG002
        """Return the same model with another share of preference in its lists."""
        raise UnsupportedError(
            f"{type(self).__name__} has one score for lists, so that preference= says nothing to "
            "it: leave it out, or fit a Hurdle"
        )

    def for_candidates(self) -> Self:
        """Return what puts items into order that somebody else has found."""
        return self

    #: Who has vectors to hand out, if the model itself has none.
    vectors_are_with: ClassVar[str] = "use a model with factors, such as IALS or DMR"

    #: Whether `learn` looks at `fitting.warm_start`, so that training can go on from a model.
    can_warm_start: ClassVar[bool] = False

    # What answers ask, made of the hooks.

    @property
    def is_fitted(self) -> bool:
        """Whether the model can be asked."""
        return self._catalogue is not None

    @property
    def catalogue(self) -> Catalogue:
        """What the model remembers of its training ratings."""
        if self._catalogue is None:
            raise NotFittedError(
                f"{type(self).__name__} is not fitted: call fit(ratings) first, "
                "or open a saved model with dmrank.load"
            )
        return self._catalogue

    def weights(self, by: By) -> Float32s:
        """Return the weight of each aspect in what is ranked by."""
        catalogue = self.catalogue
        weights = np.zeros(len(catalogue.aspects), dtype=np.float32)
        for name, weight in _mix(catalogue.primary_aspect if by is None else by).items():
            if not isinstance(weight, Real) or not 0 <= float(weight) <= _MOST_WEIGHT:
                raise ConfigError(
                    f"weight {weight!r} of aspect {name!r}: weights say how much an aspect counts, "
                    f"so give a number from 0 to {_MOST_WEIGHT:g}"
                )
            weights[catalogue.aspect(name)] = weight
        if not weights.any():
            raise ConfigError("no aspect has a weight above 0: name at least one to rank by")
        return weights

    def scorer(self, weights: Float32s) -> Scorer:
        """Return what scores by a mix of aspects, by vectors if the model has them."""
        vectors = self.scoring_vectors(weights)
        if vectors is not None:
            return vectors
        return Blocks(lambda users: self.score_block(users, weights))

    def rating_scorer(self, weights: Float32s) -> Scorer:
        """Return what scores by a mix of aspects on the scale of the ratings."""
        return self.scorer(weights * self.calibration.slope)

    def ranker(self, weights: Float32s) -> Ranker:
        """Return what makes lists by a mix of aspects on the scale of the ratings; it is kept."""
        mask = self.catalogue.rated_items
        return self.cache(
            ("ranker", weights.tobytes()),
            lambda: make_ranker(self.rating_scorer(weights), mask, self.cache),
        )

    def mixed_lists(self, users: Codes, mixes: Float32s) -> MixedLists:
        """Return what makes lists of some users, each by a mix of its own (users × K)."""
        rest = users, mixes, self.calibration.slope, self.ranker, self.config.threads
        vectors = self.mix_vectors()
        if vectors is None:
            return OneScoreLists(*rest)
        mask = self.catalogue.rated_items
        columns = self.cache("columns of all mixes", lambda: item_columns(vectors.items, mask))
        return VectorLists(*rest, vectors, columns)

    def validation_value(self, fitting: Fitting) -> float:
        """Judge what is in `self.arrays` on validation ratings, ranking by the primary aspect."""
        assert fitting.validator is not None
        return fitting.validator(self.scorer(self.weights(None)), self.config.threads)

    def validation_record(self, fitting: Fitting) -> ValidationRecord | None:
        """Say how well validation users are served; None without validation ratings."""
        if fitting.validator is None:
            return None
        per_user = fitting.validator.per_user(self.scorer(self.weights(None)), self.config.threads)
        return ValidationRecord.from_values(per_user, fitting.validator, fitting.ratings)

    def with_state(
        self, catalogue: Catalogue, arrays: dict[str, Array], calibration: Calibration
    ) -> Self:
        """Return a model with the same parameters that has learned something else."""
        model = copy.copy(self)
        model._catalogue, model.arrays = catalogue, arrays
        model.calibration, model.cache = calibration, Cache()
        return model


def _mix(by: object) -> Mapping[str, object]:
    if isinstance(by, str):
        return {by: 1.0}
    if isinstance(by, Mapping):
        return by
    raise ConfigError(
        f"by={by!r}: name one aspect, or give weights to several, such as "
        "{'value': 2, 'service': 1}"
    )
