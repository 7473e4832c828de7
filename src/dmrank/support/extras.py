"""Packages that only some need: an extra brings them, and is named where one is missing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from dmrank.support.errors import MissingExtraError


class _Package(NamedTuple):
    """What a package is called by people, and the extra that brings it."""

    name: str
    extra: str


_PACKAGES = {
    "matplotlib": _Package("matplotlib", "plots"),
    "granian": _Package("the web server granian", "serve"),
    "optuna": _Package("Optuna", "tune"),
    "psycopg": _Package("psycopg", "postgres"),
    "pyarrow": _Package("Arrow", "ray"),
    "ray": _Package("Ray", "ray"),
    "torch": _Package("PyTorch", "neural"),
    "vaderSentiment": _Package("the VADER lexicon", "text"),
}


def is_installed(module: str) -> bool:
    """Return whether a package is there, without importing it.

    Examples
    --------
    >>> is_installed("numpy")
    True
    """
    return find_spec(module) is not None


def require(module: str, what: str) -> None:
    """Raise an error that names the extra if a package is not installed; nothing is imported.

    Parameters
    ----------
    module : str
        What the package is imported as.
    what : str
        What needs it, as the beginning of a sentence.

    Examples
    --------
    >>> require("matplotlib", "a figure")
    """
    if not is_installed(module):
        package = _PACKAGES[module]
        raise MissingExtraError(
            f"{what} needs {package.name}, which is not installed: "
            f"pip install 'dmrank[{package.extra}]'"
        )
