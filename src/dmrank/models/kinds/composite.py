"""Models that are made of other models: their parameters, how they are fitted, and their arrays.

Members are named by their class in lower case: `ease`, `ials`. A parameter of one is given as
``Blend(ease={"regularization": 100})`` or as ``ease.regularization``; an array of one is kept as
``ease.weights``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from dmrank.data.ratings import Ratings, Split
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.models.base import Model
from dmrank.models.config import Config
from dmrank.models.kinds.member_fits import MemberFits
from dmrank.models.kinds.member_names import (
    check_members,
    member_kind,
    members_by_name,
    unfitted_member,
)
from dmrank.support.arrays import Array
from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.support.lazy_arrays import names_of
from dmrank.support.progress import bar
from dmrank.training.held_out import HeldOut, codes_in

#: Share of the ratings that is held out where no validation ratings are given.
_HELD_OUT = 0.15
#: With fewer held-out users nothing is learned from them.
_FEWEST_USERS = 20


class CompositeConfig(Config):
    """Parameters of models that are made of members."""

    is_random: ClassVar[bool] = True

    members: dict[str, dict[str, Any]] = Field(default={})
    """The members by name, with parameters that differ from their defaults."""

    @field_validator("members", mode="before")
    @classmethod
    def _named(cls, given: object) -> dict[str, dict[str, Any]]:
        return check_members(members_by_name(given))

    @classmethod
    def parts(cls) -> dict[str, type[Config]]:
        return {name: member_kind(name).Config for name in cls.model_fields["members"].default}

    @classmethod
    def gathered(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(parameters)
        members = members_by_name(given.pop("members", cls.model_fields["members"].default))
        changed = "members" in parameters
        for name in list(given):
            part, dot, inner = name.partition(".")
            if part in cls.model_fields and not dot:
                continue
            value = given.pop(name)
            more = {inner: value} if dot else value
            if part in cls.model_fields:
                given[part] = {**given.get(part, {}), **more}
            elif part in members and isinstance(more, Mapping):
                members[part] = {**members[part], **more}
                changed = True
            else:
                known = [*cls.model_fields, *(f"{each}." for each in members)]
                raise ConfigError(f"there is no parameter {name!r}; {did_you_mean(name, known)}")
        return given | ({"members": members} if changed else {})


class Parts(NamedTuple):
    """Fitted members, and the parameters that validation chose for each.

    Attributes
    ----------
    models : dict of str to Model
        The members by name.
    settled : dict of str to dict
        What validation chose.
    files : dict of str to Path
        Where members are that were written into files.
    """

    models: dict[str, Model]
    settled: dict[str, dict[str, Any]]
    files: dict[str, Path]


class CompositeModel(Model):
    """A model that is fitted by fitting its members, and then learns how they count.

    With validation ratings, members stop early on one half of their users, and what is learned of
    the members is learned from the other. Without, ratings are held out, the same is done with
    them, and the members are then fitted once more on everything, with what was found.
    """

    config: CompositeConfig
    spreads_its_fit = True

    @abstractmethod
    def unfitted(self, ratings: Ratings) -> dict[str, Model]:
        """Return the members for such ratings, not fitted."""

    @abstractmethod
    def settle(self, parts: Parts, train: Ratings, validation: Ratings | None) -> dict[str, Array]:
        """Learn from validation ratings how the members count; return the arrays of that."""

    def learn(self, fitting: Fitting) -> None:
        ratings, validation = fitting.ratings, fitting.validation
        members = self.unfitted(ratings)
        fits = MemberFits.open(self, fitting)
        refit = validation is None
        inner = self._hold_out(ratings) if refit else None
        with bar(type(self).__name__, total=len(members) * (1 if inner is None else 2)) as progress:
            fits.progress = progress
            if inner is not None:
                tried = _fit(members, inner.train, inner.validation, fits.within("held-out"))
                own = self.settle(tried, inner.train, inner.validation)
                again = {
                    name: type(model)(**{**model.given, **tried.settled[name]})
                    for name, model in members.items()
                }
                parts = _fit(again, ratings, None, fits)
                for name, model in parts.models.items():
                    model.calibration = _carried(tried.models[name], model)
            else:
                parts = _fit(members, ratings, validation, fits)
                own = self.settle(parts, ratings, validation)
        self.arrays = own
        for name, model in parts.models.items():
            kept = {**model.arrays, **model.calibration.to_arrays()}
            self.arrays |= {f"{name}.{array}": values for array, values in kept.items()}

    def _hold_out(self, ratings: Ratings) -> Split | None:
        """Hold ratings out for what validation ratings are for; None if they are too few."""
        inner = ratings.split(1 - _HELD_OUT, _HELD_OUT, 0.0, seed=self.config.seed)
        held_out = HeldOut.from_ratings(inner.train, inner.validation)
        enough = len(held_out.with_aspect(ratings.primary_aspect).users) >= _FEWEST_USERS
        return inner if enough else None

    def member(self, name: str, parameters: Mapping[str, Any]) -> Model:
        """Return an unfitted member."""
        return unfitted_member(name, parameters, self.config)

    def fitted_member(
        self, name: str, parameters: Mapping[str, Any], catalogue: Catalogue
    ) -> Model:
        """Return a member with what it has learned."""
        prefix = f"{name}."
        arrays = {
            array.removeprefix(prefix): values
            for array, values in self.arrays.items()
            if array.startswith(prefix)
        }
        calibration = Calibration.from_arrays(arrays)
        own = {array: values for array, values in arrays.items() if "calibration." not in array}
        return self.member(name, parameters).with_state(catalogue, own, calibration)

    def fitted_names(self) -> list[str]:
        """Return the names of the members that were fitted."""
        return list(self.members_among(names_of(self.arrays)))

    def members_among(self, arrays: Iterable[str]) -> dict[str, Model]:
        """Return the members, unfitted, that have one of these arrays."""
        members, fitted = self.config.members, {array.partition(".")[0] for array in arrays}
        return {name: self.member(name, members[name]) for name in members if name in fitted}


def _fit(
    members: Mapping[str, Model], train: Ratings, validation: Ratings | None, fits: MemberFits
) -> Parts:
    early = None if validation is None else halves(train, validation, fits.seed)[0]
    models, settled = {}, {}
    for name, model, chosen in fits.fit(members, train, early):
        models[name], settled[name] = model, chosen
    return Parts(models, settled, dict(fits.files))


def halves(train: Ratings, validation: Ratings, seed: int) -> tuple[Ratings, Ratings]:
    """Return validation ratings of two halves of the users; of too few users, all of them twice.

    Only users of whom something can be asked are counted: those with a rating on the primary
    aspect of an item that training knows.
    """
    known = HeldOut.from_ratings(train, validation).with_aspect(train.primary_aspect).users
    if len(known) < _FEWEST_USERS:
        return validation, validation
    first = np.zeros(len(train.users), dtype=np.bool_)
    first[np.random.default_rng([seed, 1]).permutation(known)[: len(known) // 2]] = True
    users, _ = codes_in(train.users, train.items, validation)
    of_rows = first[np.maximum(users, 0)] & (users >= 0)
    return validation.select(np.flatnonzero(of_rows)), validation.select(np.flatnonzero(~of_rows))


def _carried(tried: Model, model: Model) -> Calibration:
    """Return the calibration of a model that was fitted again, as sure as held-out ratings let."""
    return replace(
        model.calibration,
        covariance_factor=tried.calibration.covariance_factor,
        order_factor=tried.calibration.order_factor,
    )


def fold_in_members(
    models: Mapping[str, Model], profiles: Profiles
) -> dict[str, Array | NewRows] | None:
    """Return the rows of users in the arrays of all members; None if one cannot."""
    rows: dict[str, Array | NewRows] = {}
    for name, model in models.items():
        own = model.fold_in_users(profiles)
        if own is None:
            return None
        rows |= {f"{name}.{array}": values for array, values in own.items()}
    return rows
