"""Models that are named among the parameters of another: by their class in lower case, `ease`."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isabstract
from typing import Any

from dmrank.models.base import Model
from dmrank.models.config import Config, make_config
from dmrank.support.errors import ConfigError, did_you_mean

#: Parameters that a member takes over unless it is given its own.
_SHARED = ("seed", "threads", "validation_metric", "validation_users")


def members_by_name(given: object) -> dict[str, dict[str, Any]]:
    """Return members by name: from names, models that are not fitted, or names with parameters."""
    if isinstance(given, Mapping):
        return {_plain(name): dict(parameters) for name, parameters in given.items()}
    if isinstance(given, str | Model) or not hasattr(given, "__iter__"):
        raise ConfigError(
            f"members={given!r}: give models or their names, such as ['EASE', 'IALS']"
        )
    named: dict[str, dict[str, Any]] = {}
    for each in given:
        name = _plain(type(each).__name__ if isinstance(each, Model) else str(each))
        if name in named:
            raise ConfigError(f"members name {name} twice: give each once")
        # What was given, not the defaults, so that shared parameters stay shared.
        named[name] = dict(each.given) if isinstance(each, Model) else {}
    return named


def check_members(members: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return members by name if there are such models with such parameters."""
    for name, parameters in members.items():
        make_config(member_kind(name).Config, parameters)
    return members


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def member_kind(name: str) -> type[Model]:
    """Return the class of a member."""
    registry = Model.registry().items()
    kinds = {_plain(each): kind for each, kind in registry if not isabstract(kind)}
    if name not in kinds:
        raise ConfigError(f"there is no model {name!r}; {did_you_mean(name, kinds)}")
    return kinds[name]


def unfitted_member(name: str, parameters: Mapping[str, Any], config: Config) -> Model:
    """Return a member that takes over from a model what it is not given itself."""
    shared = {each: getattr(config, each) for each in _SHARED}
    return member_kind(name)(**{**shared, **parameters})
