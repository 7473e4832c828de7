"""Messages of the library in the words of the command line: `--user`, where Python has `user=`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

#: A value after `name=`: a list, a tuple, a quoted word, what stands for any, or a bare word.
_VALUE = r"\[[^\[\]]*\]|\([^()]*\)|'[^']*'|…|[\w-][\w.-]*|"
#: Names in paths, in quotes and of members, such as `ease.seed=1`, are data or written by the user.
_BEFORE = r"(?<![\w./\\'\"=-])"


class OptionName(NamedTuple):
    """How a parameter is given on the command line."""

    flag: str
    metavar: str | None


def in_options(message: str, options: Mapping[str, OptionName]) -> str:
    """Return a message with parameters that a command has as options under their names there.

    Examples
    --------
    >>> options = {"n": OptionName("-n", None), "rating": OptionName("--rating", None)}
    >>> in_options("n=0: ask for at least one item", options)
    '-n 0: ask for at least one item'
    >>> in_options("/data/rating=3/a.csv needs rating=, the column with the rating", options)
    '/data/rating=3/a.csv needs --rating, the column with the rating'
    """
    names = "|".join(map(re.escape, options))
    return re.sub(
        f"{_BEFORE}({names})=({_VALUE})",
        lambda found: _as_option(options[found[1]], found[2]),
        message,
    )


def _as_option(option: OptionName, value: str) -> str:
    """Return an option with a value that Python has written.

    Examples
    --------
    >>> scale = OptionName("--scale", "LOW:HIGH")
    >>> _as_option(scale, "(low, high)"), _as_option(OptionName("--aspects", "A,B,…"), "[]")
    ('--scale LOW:HIGH', "--aspects ''")
    """
    if not value:
        return option.flag
    if value[0] not in "[('…":
        return f"{option.flag} {value}"
    try:
        meant = ast.literal_eval(value)
    except (ValueError, SyntaxError):  # it stands for any value
        return f"{option.flag} {option.metavar or value}"
    if isinstance(meant, list | tuple):
        return f"{option.flag} {','.join(map(str, meant)) or repr('')}"
    return f"{option.flag} {meant}"
