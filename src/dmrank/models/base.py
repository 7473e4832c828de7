"""The contract of a model: thin public methods over small hooks.

A model implements `_fit` and, if its scores are dot products, `_vectors`, else `_score_block`.
Ids, checks, filters, files and calibration live here, once: no model ever sees an external id.
"""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

import dmrank
from dmrank.containers import read_container, write_container
from dmrank.directional.scales import from_training_scale
from dmrank.errors import ConfigError, DataError, ModelFileError, NotFittedError
from dmrank.metrics import parse_metric
from dmrank.models.calibration import Calibration, calibrate
from dmrank.models.catalogue import Catalogue
from dmrank.models.config import Config, make_config
from dmrank.models.fitting import Fitting, training_values
from dmrank.models.scores import Blocks, ItemLists, Scorer, Vectors
from dmrank.models.validation import Validator
from dmrank.ratings import Ratings
from dmrank.training.history import History

#: Version of the model file; raise it when the meaning of the content changes.
FILE_FORMAT = 1

By = str | Mapping[str, float] | None


class Model(ABC):
    """A model that ranks items by any aspect.

    Parameters are those of the class's `Config`, given by name.
    """

    Config: ClassVar[type[Config]]
    #: Whether scores are ratings on the training scale, which need no calibration.
    scores_are_ratings: ClassVar[bool] = False
    _registry: ClassVar[dict[str, type[Model]]] = {}

    def __init__(self, **parameters: Any) -> None:
        self.config = make_config(self.Config, parameters)
        self._given = dict(parameters)
        self._catalogue: Catalogue | None = None
        self._arrays: dict[str, NDArray[Any]] = {}
        self.history = History()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Model._registry[cls.__name__] = cls
        if "Config" in vars(cls):
            # So that help() and editors show every parameter with its default.
            cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [
                    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
                    for name, field in cls.Config.model_fields.items()
                ]
            )

    # The hooks.

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
        return vectors.users[users] @ vectors.items.T

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

    def _calibrate(self, ratings: Ratings) -> Calibration:
        """Learn how scores become ratings on the training scale."""
        if self.scores_are_ratings:
            return Calibration.none(len(ratings.users), len(ratings.aspects))
        users = ratings.user_codes
        scores = self._raw_scores(users, ratings.item_codes)
        return calibrate(users, scores, training_values(ratings), len(ratings.users))

    # Parameters, as in scikit-learn.

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return all parameters by name."""
        defaults = {name: field.default for name, field in self.Config.model_fields.items()}
        return {**defaults, **self._given}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; what was fitted before is forgotten."""
        type(self).__init__(self, **{**self._given, **parameters})
        return self

    def clone(self) -> Self:
        """Return an unfitted model with the same parameters."""
        return type(self)(**self._given)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({given})"

    # Fitting and asking.

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

    def fit(
        self,
        ratings: Ratings,
        validation: Ratings | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callable[[History], None] | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings : Ratings
            Training ratings.
        validation : Ratings, optional
            Held-out ratings for early stopping; without it every iteration is run.
        checkpoint : path, optional
            A folder in which the state is saved at intervals. A fit that was killed goes on from
            there and ends with the same bits.
        callback : callable, optional
            Called with the history after each evaluation; what it raises ends the training.
        """
        if not isinstance(ratings, Ratings):
            raise DataError(
                f"fit takes Ratings, not {type(ratings).__name__}: use dmrank.read_ratings"
            )
        _check_trainable(ratings)
        self._catalogue, self._arrays, self.history = None, {}, History()
        fitting = Fitting(ratings, self._validator(ratings, validation), checkpoint, callback)
        self._catalogue = Catalogue.of(ratings)
        try:
            self._fit(fitting)
            if fitting.validator is not None and not self.history.iterations:
                # A model without iterations is judged once.
                self.history.add(1, float("nan"), self._validation_value(fitting))
                if callback is not None:
                    callback(self.history)
            self._arrays |= self._calibrate(ratings).to_arrays()
        except BaseException:
            self._catalogue = None
            raise
        return self

    def _validator(self, train: Ratings, validation: Ratings | None) -> Validator | None:
        if validation is None:
            return None
        config = self.config
        metric = parse_metric(config.validation_metric)
        return Validator(train, validation, metric, config.validation_users, config.seed)

    def _validation_value(self, fitting: Fitting) -> float:
        """Judge what is in `self._arrays`, ranking by the primary aspect."""
        assert fitting.validator is not None
        return fitting.validator(self._scorer(self._weights(None)), self.config.threads)

    def predict(
        self, users: str | Sequence[str], items: str | Sequence[str], *, raw: bool = False
    ) -> NDArray[np.float32]:
        """Predict the ratings of (user, item) pairs.

        Parameters
        ----------
        users, items : str or sequence of str
            Ids, pair by pair; a single id goes with every id of the other.
        raw : bool
            Return the scores that rank, instead of ratings on the scale of the training ratings.

        Returns
        -------
        float32 array
            One row per pair, one column per aspect.
        """
        catalogue = self.catalogue
        user_codes, item_codes = np.broadcast_arrays(
            *_same_length(
                catalogue.users.codes([users] if isinstance(users, str) else users),
                catalogue.items.codes([items] if isinstance(items, str) else items),
            )
        )
        scores = self._raw_scores(user_codes, item_codes)
        if raw:
            return scores
        ratings = Calibration.from_arrays(self._arrays)(user_codes, scores)
        # Ratings are clipped to the training scale before they are mapped back.
        return from_training_scale(np.clip(ratings, 1, 5), catalogue.scale).astype(np.float32)

    def recommend(
        self,
        users: str | Sequence[str],
        n: int = 10,
        *,
        by: By = None,
        exclude_seen: bool = True,
    ) -> pl.DataFrame:
        """Rank items for users.

        Parameters
        ----------
        users : str or sequence of str
            User ids.
        n : int
            Length of each list; shorter where there are not so many items.
        by : str or mapping of str to float, optional
            The aspect to rank by, or a mix such as ``{"value": 2, "service": 1}``; by default the
            primary aspect.
        exclude_seen : bool
            Leave out what the user rated in training.

        Returns
        -------
        polars.DataFrame
            Columns user, rank (from 1), item, score, and item_name if the ratings had names.
        """
        catalogue = self.catalogue
        if n < 1:
            raise ConfigError(f"n={n}: ask for at least one item")
        weights = self._weights(by)
        codes = catalogue.users.codes([users] if isinstance(users, str) else users)
        items, scores = self._top_n(codes, min(n, len(catalogue.items)), weights, exclude_seen)
        found = items >= 0
        row, place = np.nonzero(found)
        listed = items[found]
        columns = [
            catalogue.users.names(codes[row]).alias("user"),
            pl.Series("rank", place + 1, dtype=pl.Int32),
            catalogue.items.names(listed).alias("item"),
            pl.Series("score", scores[found]),
        ]
        if catalogue.item_names is not None:
            columns.append(catalogue.item_names.gather(listed).alias("item_name"))
        return pl.DataFrame(columns)

    def _top_n(
        self,
        users: NDArray[np.int32],
        n: int,
        weights: NDArray[np.float32],
        exclude_seen: bool,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        seen = ItemLists(*self.catalogue.seen_by(users))
        if not exclude_seen:
            seen = ItemLists(np.zeros_like(seen.pointer), seen.items[:0])
        # Scores of different aspects are mixed on the scale of the ratings.
        slope = Calibration.from_arrays(self._arrays).slope
        return self._scorer(weights * slope).top_n(users, n, seen, self.config.threads)

    def _scorer(self, weights: NDArray[np.float32]) -> Scorer:
        """Return what ranks by a mix of aspects, by vectors if the model has them."""
        vectors = self._vectors(weights)
        if vectors is not None:
            return vectors
        return Blocks(lambda users: self._score_block(users, weights))

    def _weights(self, by: By) -> NDArray[np.float32]:
        """Return the weight of each aspect."""
        catalogue = self.catalogue
        wanted = by if isinstance(by, Mapping) else {by or catalogue.primary_aspect: 1.0}
        weights = np.zeros(len(catalogue.aspects), dtype=np.float32)
        for name, weight in wanted.items():
            if not np.isfinite(weight) or weight < 0:
                raise ConfigError(
                    f"weight {weight!r} of aspect {name!r}: weights say how much an aspect counts, "
                    "so give a number from 0 on"
                )
            weights[catalogue.aspect(name)] = weight
        if not weights.any():
            raise ConfigError("no aspect has a weight above 0: name at least one to rank by")
        return weights

    # Files.

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model into one file, whole or not at all."""
        catalogue = self.catalogue
        metadata = {
            "library": dmrank.__version__,
            "model": type(self).__name__,
            "config": self.config.model_dump(mode="json"),
            "aspects": list(catalogue.aspects),
            "primary_aspect": catalogue.primary_aspect,
        }
        arrays = {**self._arrays, **catalogue.to_arrays()}
        return write_container(path, arrays, metadata, format_=FILE_FORMAT)


def load(path: str | os.PathLike[str]) -> Model:
    """Open a model that was saved; its arrays are mapped from the file, not read.

    The model is read-only and can be asked from many threads.
    """
    arrays, metadata = read_container(path, format_=FILE_FORMAT)
    kind = Model._registry.get(metadata.get("model", ""))
    if kind is None:
        raise ModelFileError(
            f"{path} holds the model {metadata.get('model')!r}, which is not known: import the "
            "module that defines it first"
        )
    try:
        model = kind(**metadata["config"])
        model._catalogue = Catalogue.from_arrays(
            arrays, tuple(metadata["aspects"]), metadata["primary_aspect"]
        )
    except (KeyError, ConfigError) as error:
        raise ModelFileError(f"{path} is not a model this version can read: {error}") from None
    model._arrays = {
        name: array for name, array in arrays.items() if not name.startswith("catalogue.")
    }
    return model


def _check_trainable(ratings: Ratings) -> None:
    users = int((np.diff(ratings.user_pointer) > 0).sum())
    items = len(np.unique(ratings.item_codes))
    if users < 2 or items < 2:
        raise DataError(
            f"{users} user(s) and {items} item(s) with ratings: ranking needs at least two of each"
        )
    if np.isnan(ratings.values).all():
        raise DataError("every rating is missing: there is nothing to learn from")


def _same_length(
    users: NDArray[np.int32], items: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    if len(users) != len(items) and 1 not in (len(users), len(items)):
        raise DataError(
            f"{len(users):,} users and {len(items):,} items do not make pairs: give as many of each"
        )
    return users, items
