"""Text for terminals: names are data, and data must not move the cursor or change colours."""

from __future__ import annotations

import re

#: Control characters, line separators, lone surrogates, and what reverses the order of letters.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_IN_LINES = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def printable(text: str) -> str:
    r"""Return text on one line, whose control characters are seen and not obeyed.

    Examples
    --------
    >>> print(printable("Hilton\x1b[2J\n"))
    Hilton\x1b[2J\n
    """
    return _UNSAFE.sub(_escaped, text)


def printable_lines(text: str) -> str:
    r"""Return the same of text that may have several lines.

    Examples
    --------
    >>> print(printable_lines("user,item\nann,\x07\n"), end="")
    user,item
    ann,\x07
    """
    return _UNSAFE_IN_LINES.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
