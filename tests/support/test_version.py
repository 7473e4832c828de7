"""The version is said once, where every room can read it; the build takes it from there."""

import tomllib
from importlib.metadata import version
from pathlib import Path

from dmrank.support.version import __version__

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))


def test_what_is_installed_has_the_version_of_the_code() -> None:
    assert version("dmrank") == __version__


def test_the_build_file_says_no_version_of_its_own() -> None:
    assert "version" not in PROJECT["project"]
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/dmrank/support/version.py"
