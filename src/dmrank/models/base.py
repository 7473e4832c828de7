"""The contract of a model: thin public methods over small hooks.

A model implements `_fit` and, if its scores are dot products, `_vectors`, else `_score_block`
(see `hooks`). Ids, checks, filters, files and calibration live here and in the mixins, once: no
model ever sees an external id.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

import dmrank
from dmrank.answers.compare import Comparing
from dmrank.answers.explain import Explaining
from dmrank.answers.fold_in.folding import Folding
from dmrank.answers.index import Indexing
from dmrank.answers.plot import Drawing
from dmrank.answers.recommend import Recommending
from dmrank.answers.similar import Similar
from dmrank.data.ratings import Ratings
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.warm_start import SHAPES, Start
from dmrank.metrics import parse_metric
from dmrank.models.config import Config, make_config
from dmrank.support.containers import read_container, write_container
from dmrank.support.errors import ConfigError, DataError, ModelFileError, UnsupportedError
from dmrank.training.history import History
from dmrank.training.validation import Validator

#: Version of the model file; raise it when the meaning of the content changes.
FILE_FORMAT = 1


class Model(Recommending, Similar, Indexing, Comparing, Explaining, Drawing, Folding):
    """A model that ranks items by any aspect.

    Parameters are those of the class's `Config`, given by name.
    """

    Config: ClassVar[type[Config]]
    #: Whether training can go on from an existing model.
    can_start: ClassVar[bool] = False
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

    # Fitting.

    def fit(
        self,
        ratings: Ratings,
        validation: Ratings | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callable[[History], None] | None = None,
        start: Model | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings : Ratings
            Training ratings.
        validation : Ratings, optional
            Held-out ratings for early stopping and calibration; without it every iteration is run.
        checkpoint : path, optional
            A folder in which the state is saved at intervals. A fit that was killed goes on from
            there and ends with the same bits.
        callback : callable, optional
            Called with the history after each evaluation; what it raises ends the training.
        start : Model, optional
            A fitted model of the same kind and parameters from which training goes on: users and
            items that it knows keep their factors, others start afresh (DMR and MBPR).
        """
        if not isinstance(ratings, Ratings):
            raise DataError(
                f"fit takes Ratings, not {type(ratings).__name__}: use dmrank.read_ratings"
            )
        _check_trainable(ratings)
        begin = None if start is None else self._begin(start, ratings)
        self._catalogue, self._arrays, self.history = None, {}, History()
        validator = self._validator(ratings, validation)
        fitting = Fitting(ratings, validator, checkpoint, callback, begin)
        self._catalogue = Catalogue.of(ratings)
        try:
            self._fit(fitting)
            if fitting.validator is not None and not self.history.iterations:
                # A model without iterations is judged once.
                self.history.add(1, float("nan"), self._validation_value(fitting))
                if callback is not None:
                    callback(self.history)
            self._arrays |= self._calibrate(ratings, validation).to_arrays()
        except BaseException:
            self._catalogue = None
            raise
        return self

    def _begin(self, start: Model, ratings: Ratings) -> Start:
        if not self.can_start:
            raise UnsupportedError(
                f"{type(self).__name__} cannot go on from a model: leave start out"
            )
        if type(start) is not type(self):
            raise ConfigError(
                f"start is a {type(start).__name__}, not a {type(self).__name__}: factors of "
                "another kind of model mean something else"
            )
        for name in SHAPES:
            ours, theirs = getattr(self.config, name, None), getattr(start.config, name, None)
            if ours != theirs:
                raise ConfigError(
                    f"start has {name}={theirs!r}, not {ours!r}: give this model the same"
                )
        return Start.of(start.catalogue, start._arrays, ratings)

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
        if raw:
            return self._raw_scores(user_codes, item_codes)
        return self._ratings(user_codes, item_codes)

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
