"""The version is said twice, in the package and in its build file: they agree."""

import tomllib
from pathlib import Path

from dmrank.support.version import __version__


def test_the_version_is_that_of_the_build_file() -> None:
    build = Path(__file__).parents[2] / "pyproject.toml"
    assert tomllib.loads(build.read_text(encoding="utf-8"))["project"]["version"] == __version__
