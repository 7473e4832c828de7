"""What to rank by, as people write it in a command or an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from dmrank.fitted.contract import By


def parse_by(given: list[str] | None) -> By:
    """Parse `service`, `value=2`, or several of them; nothing means the primary aspect.

    Examples
    --------
    >>> parse_by(["service", "value=2"]), parse_by(["all"]), parse_by([])
    ({'service': 1.0, 'value': 2.0}, 'all', None)
    """
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    mix: dict[str, float] = {}
    for text in given:
        name, _, weight = text.rpartition("=") if "=" in text else (text, "", "1")
        if name in mix:
            raise ConfigError(f"by= names {name!r} twice: give each aspect once")
        try:
            mix[name] = float(weight)
        except ValueError:
            raise ConfigError(f"by={text!r} is not ASPECT or ASPECT=WEIGHT") from None
    return mix
