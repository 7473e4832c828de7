"""Parameters of models, as given on the command line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from dmrank.support.errors import ConfigError


def read_config(path: Path | None) -> dict[str, Any]:
    """Read parameters from a toml file."""
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a toml file: {error}") from None


def parse_settings(settings: list[str] | None, **options: Any) -> dict[str, Any]:
    """Parse `name=value`; a value that is not a number, true, false or null is a word.

    Parameters that have options of their own come from these, unless they are None.

    Examples
    --------
    >>> parse_settings(["margin=0.2", "family=student", "nonnegative=true"])
    {'margin': 0.2, 'family': 'student', 'nonnegative': True}
    >>> parse_settings(["ease.regularization=100"])  # of a member of Blend and Hurdle
    {'ease.regularization': 100}
    """
    parsed: dict[str, Any] = {}
    for text in settings or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {text!r} is not NAME=VALUE, such as margin=0.2")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    for name, value in options.items():
        if value is not None and name in parsed:
            raise ConfigError(f"--{name} and --set {name} say the same: give one of them")
    return parsed | {name: value for name, value in options.items() if value is not None}
