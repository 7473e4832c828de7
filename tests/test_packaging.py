"""What pyproject.toml promises of versions is what is tried."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if "==" in line)


def _bounds(*requirements: list[str]) -> dict[str, str]:
    found = (re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for each in requirements for line in each)
    return {match[1].lower(): match[2] for match in found if match}


def test_every_lower_bound_is_the_version_that_make_lowest_runs_with() -> None:
    extras = PROJECT["optional-dependencies"]
    bounds = _bounds(PROJECT["dependencies"], extras["plots"], extras["text"], extras["tune"])
    assert len(bounds) == len(PROJECT["dependencies"]) + 3
    pins = _pins("constraints-lowest.txt")
    assert {name: _padded(pins[name]) for name in bounds} == {
        name: _padded(version) for name, version in bounds.items()
    }


def _padded(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    return tuple(numbers + [0] * (3 - len(numbers)))


def test_what_the_tests_run_with_is_pinned() -> None:
    extras = PROJECT["optional-dependencies"]
    names = _bounds(PROJECT["dependencies"], *extras.values())
    pins = {name.replace("_", "-") for name in _pins("constraints.txt")}
    assert names.keys() <= pins


def test_the_oldest_python_is_among_those_that_are_named() -> None:
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert PROJECT["requires-python"] == f">={named[0]}"
