"""A model that is being served: opened, tried, and with what every answer needs at hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from dmrank.answers.by_text import parse_by
from dmrank.answers.fold_in.newcomers import without_users
from dmrank.answers.lists import known_users
from dmrank.data.ids import Id
from dmrank.data.rows import has_rows
from dmrank.fitted.contract import By
from dmrank.models.base import Model, load
from dmrank.service.copies import fingerprint
from dmrank.support.arrays import Float32s
from dmrank.support.lazy_arrays import LazyArrays

#: Hexadecimal digits by which answers name the model.
_DIGITS = 12
#: So many shares of preference are kept ready.
_MOST_SHARES = 101
#: And so many mixes that were asked for.
_MOST_MIXES = 1_000


class Mix(NamedTuple):
    """What to rank by.

    Attributes
    ----------
    by : str, dict or None
        As it was asked for.
    weights : float32 array or None
        Of each aspect; None: all together.
    shown : str or dict
        As it is answered.
    """

    by: By
    weights: Float32s | None
    shown: Literal["all"] | dict[str, float]


def make_mix(model: Model, by: By) -> Mix:
    """Return what to rank by, after a check."""
    aspects = model.catalogue.aspects
    if by == "all" and "all" not in aspects:
        return Mix(by, None, "all")
    weights = model.weights(by)
    named = zip(aspects, weights.tolist(), strict=True)
    return Mix(by, weights, {name: weight for name, weight in named if weight})


@dataclass(frozen=True, eq=False)
class Served:
    """A fitted model, and what is made of it once.

    Attributes
    ----------
    model : Model
        The model; it answers on one thread, for there is a worker on every core.
    version : str
        What answers call it.
    fingerprint : str
        What its file is told from others by.
    saved, loaded : datetime
        When it was written, and opened.
    """

    model: Model
    version: str
    fingerprint: str
    saved: datetime
    loaded: datetime

    @classmethod
    def open(cls, path: Path) -> Served:
        """Open a model file, look at all of it, and try it."""
        model = load(path)
        if isinstance(model.arrays, LazyArrays):
            model.arrays.make_all()
        model.catalogue.read_ids()
        model.config = model.config.model_copy(update={"threads": 1})
        mark = fingerprint(path)
        served = cls(
            model=model,
            version=mark[:_DIGITS],
            fingerprint=mark,
            saved=datetime.fromtimestamp(path.stat().st_mtime, UTC),
            loaded=datetime.now(UTC),
        )
        served.warm_up()
        return served

    def warm_up(self) -> None:
        """Answer once what will be asked first, so that nobody waits for it."""
        from dmrank.answers.list_rows import make_rows

        catalogue, aspects = self.model.catalogue, len(self.aspects)
        users = np.flatnonzero(has_rows(catalogue.seen_pointer))[:2]
        mixes = np.ones((len(users), aspects), dtype=np.float32)
        make_rows(self.model, users, mixes, 10, catalogue.seen_by(users))
        assert len(self.item_ids) == len(self.item_names)
        assert self.code(self.model.users[int(users[0])]) == users[0]
        assert self.can is not None

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects of the model."""
        return self.model.catalogue.aspects

    @cached_property
    def _rated_users(self) -> list[bool]:
        return has_rows(self.model.catalogue.seen_pointer).tolist()

    def code(self, user: Id) -> int:
        """Return the code of a user; one without a training rating is not known."""
        code = self.model.users.find(user)
        if code >= 0 and self._rated_users[code]:
            return code
        return int(known_users(self.model.catalogue, [user])[0])

    @cached_property
    def item_ids(self) -> list[Id]:
        """Ids of all items, by code."""
        return self.model.items.values.to_list()

    @cached_property
    def item_names(self) -> list[str | None]:
        """Names of all items, by code; None where there is none."""
        names = self.model.catalogue.item_names
        return [None] * len(self.item_ids) if names is None else [name or None for name in names]

    @cached_property
    def values_type(self) -> type[Any]:
        """A struct with a number per aspect: it is made and written faster than a dict."""
        fields = [f"aspect_{k}" for k in range(len(self.aspects))]
        return msgspec.defstruct(
            "Values", fields, rename=dict(zip(fields, self.aspects, strict=True)), gc=False
        )

    @cached_property
    def _mixes(self) -> dict[tuple[str, ...], Mix]:
        return {}

    def mix(self, by: list[str] | None) -> Mix:
        """Return the mix that an address names; those of late are kept."""
        key = tuple(by or ())
        found = self._mixes.get(key)
        if found is None:
            found = make_mix(self.model, parse_by(by))
            if len(self._mixes) >= _MOST_MIXES:
                self._mixes.clear()
            self._mixes[key] = found
        return found

    @cached_property
    def can(self) -> dict[str, bool]:
        """Which questions the model answers."""
        anyone = np.zeros(1, dtype=np.int32)
        model = self.model
        return {
            "compare_probability": model.covariances(anyone, anyone) is not None,
            "explain": len(self.aspects) > 1
            and model.aspect_relevance(anyone, anyone, 0) is not None,
            "fold_in": type(model).fold_in_users is not Model.fold_in_users,
        }

    @cached_property
    def without_users(self) -> Model:
        """What newcomers are folded into: only they are asked about then."""
        return without_users(self.model) or self.model

    @cached_property
    def newcomer(self) -> str:
        """An id that no user has."""
        users = self.model.users
        ids = map(str, count()) if users.type == "integer" else (f"newcomer {n}" for n in count())
        return next(name for name in ids if name not in users)

    @cached_property
    def shares(self) -> dict[float | None, Model]:
        """The model with other shares of preference, a few of them."""
        return {None: self.model}

    def with_preference(self, preference: float | None) -> Model:
        """Return the model with a share of preference in its lists."""
        found = self.shares.get(preference)
        if found is None:
            assert preference is not None
            found = self.model.with_preference(preference)
            if len(self.shares) < _MOST_SHARES:
                self.shares[preference] = found
        return found
