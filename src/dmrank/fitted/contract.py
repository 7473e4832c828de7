"""What a model implements, and what every question to a fitted model is answered with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dmrank.data.training_scale import from_training_scale
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Blocks, Scorer, Vectors
from dmrank.support.errors import ConfigError, NotFittedError

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


class Hooks(ABC):
    """The hooks of a model; `Model` and the mixins it is made of ask nothing else of it."""

    config: Any
    _catalogue: Catalogue | None
    _arrays: dict[str, NDArray[Any]]

    @abstractmethod
    def _fit(self, fitting: Fitting) -> None:
        """Learn, and put everything that was learned into `self._arrays`."""

    def _vectors(self, weights: NDArray[np.float32]) -> Vectors | None:  # noqa: ARG002
        """Return vectors whose dot products are the scores for a mix of aspects, if there are."""
        return None

    def _score_block(
        self, users: NDArray[np.integer], weights: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return scores (users × all items) for a mix of aspects."""
        vectors = self._vectors(weights)
        if vectors is None:
            raise NotImplementedError(
                f"{type(self).__name__} implements neither _vectors nor _score_block"
            )
        return vectors.of_users(users) @ vectors.items.T

    def _raw_scores(
        self, users: NDArray[np.integer], items: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return the scores of (user, item) pairs, one column per aspect."""
        each_aspect = np.eye(len(self.catalogue.aspects), dtype=np.float32)
        columns = [self._scorer(weights).of_pairs(users, items) for weights in each_aspect]
        return np.column_stack(columns)

    def _aspect_relevance(
        self,
        users: NDArray[np.integer],  # noqa: ARG002
        items: NDArray[np.integer],  # noqa: ARG002
        aspect: int,  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        """Return how much each aspect (columns) explains the ranking of pairs by one of them.

        NaN: the model cannot tell of that aspect. None: it cannot tell of any.
        """
        return None

    def _covariances(
        self,
        users: NDArray[np.integer],  # noqa: ARG002
        items: NDArray[np.integer],  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        """Return Σ_ui of (user, item) pairs, n × K × K, not calibrated; None: there is none."""
        return None

    # What the hooks are asked through.

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

    @property
    def _calibration(self) -> Calibration:
        return Calibration.from_arrays(self._arrays)

    def _ratings(
        self, users: NDArray[np.integer], items: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return the predicted ratings of (user, item) pairs, on the scale of the training ratings.

        They are clipped to the training scale before they are mapped back.
        """
        ratings = self._calibration(users, self._raw_scores(users, items))
        return from_training_scale(np.clip(ratings, 1, 5), self.catalogue.scale).astype(np.float32)

    def _scorer(self, weights: NDArray[np.float32]) -> Scorer:
        """Return what ranks by a mix of aspects, by vectors if the model has them."""
        vectors = self._vectors(weights)
        if vectors is not None:
            return vectors
        return Blocks(lambda users: self._score_block(users, weights))

    def _weights(self, by: By) -> NDArray[np.float32]:
        """Return the weight of each aspect."""
        catalogue = self.catalogue
        weights = np.zeros(len(catalogue.aspects), dtype=np.float32)
        for name, weight in _mix(catalogue.primary_aspect if by is None else by).items():
            if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
                raise ConfigError(
                    f"weight {weight!r} of aspect {name!r}: weights say how much an aspect counts, "
                    "so give a number from 0 on"
                )
            weights[catalogue.aspect(name)] = weight
        if not weights.any():
            raise ConfigError("no aspect has a weight above 0: name at least one to rank by")
        return weights


def _mix(by: object) -> Mapping[str, object]:
    if isinstance(by, str):
        return {by: 1.0}
    if isinstance(by, Mapping):
        return by
    raise ConfigError(
        f"by={by!r}: name one aspect, or give weights to several, such as "
        "{'value': 2, 'service': 1}"
    )
