"""The folder of a run: finished work is kept in it, and work of other settings never mixed in."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePath
from typing import Any

import polars as pl

from dmrank.data.reading.claims import read_checked
from dmrank.data.reading.parquet_pages import DamagedError
from dmrank.data.reading.tables import UNREADABLE
from dmrank.support.errors import ConfigError, DataError, first_line
from dmrank.support.files import atomic_path, read_json, write_table

_SETTINGS = "settings.json"
#: What to do about finished work that is damaged.
_REMEDY = "delete it, and it is made again"
_SECONDS = "seconds.jsonl"
_WRITTEN = "written.json"
#: Beside the settings: which models the last report was on. Work is kept by model, so that another
#: report may be on others.
MODELS = "models"


class RunFolder:
    """Keeps what a run has finished; `pieces` counts what this process added.

    Parameters
    ----------
    path : Path
        Made if it does not exist; refused if it holds anything but a run with the same settings.
    settings : mapping of str to JSON value
        Everything that the results of any model depend on.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.pieces = 0
        wanted = json.loads(json.dumps(settings))
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file: name a folder for the results")
        found = path / _SETTINGS
        if found.exists():
            _check_same(path, _read_settings(found), wanted)
        elif path.exists() and any(path.iterdir()):
            raise ConfigError(f"{path} is not empty and holds no run: name another folder")
        else:
            self.write_text(_SETTINGS, json.dumps(wanted, indent=2) + "\n")

    @property
    def settings_file(self) -> Path:
        """What says which run it is."""
        return self.path / _SETTINGS

    def finish_report(self, models: Collection[str], files: Collection[str]) -> None:
        """Note what the report is on, and remove files of the report before that it has not."""
        before = self.kept(_WRITTEN)
        written = read_json(before, _REMEDY) if before.exists() else []
        if not isinstance(written, list) or not all(map(_is_inside, written)):
            raise DataError(f"{before} is damaged, it names no files of the report: {_REMEDY}")
        if written != sorted(files):
            for name in set(written) - set(files):
                (self.path / name).unlink(missing_ok=True)
            self.write_text(str(before.relative_to(self.path)), json.dumps(sorted(files), indent=2))
        settings = {**_read_settings(self.path / _SETTINGS), MODELS: list(models)}
        self.write_text(_SETTINGS, json.dumps(settings, indent=2) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        """Write a text file, whole or not at all."""
        target = self.path / name
        with atomic_path(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return target

    def keep_table(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return a table that was made before, or make and keep it."""
        target = self.kept(f"{name}.parquet")
        if not target.exists():
            write_table(make(), target)
            self.pieces += 1
        try:
            return read_checked(target)
        except (*UNREADABLE, DamagedError, OSError) as error:
            raise DataError(f"{target} is damaged ({first_line(error)}): {_REMEDY}") from None

    def keep_values(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return plain values that were found before, or find and keep them."""
        target = self.kept(f"{name}.json")
        if not target.exists():
            text = json.dumps(make(), indent=2)
            with atomic_path(target) as temporary:
                temporary.write_text(text, encoding="utf-8")
            self.pieces += 1
        values: dict[str, Any] = read_json(target, _REMEDY)
        if not isinstance(values, dict):
            raise DataError(f"{target} is damaged, it holds no values: {_REMEDY}")
        return values

    def add_seconds(self, step: str, seconds: float) -> None:
        """Remember how long a step took."""
        target = self.kept(_SECONDS)
        before = target.read_text(encoding="utf-8") if target.exists() else ""
        with atomic_path(target) as temporary:
            line = json.dumps([step, round(seconds, 1)]) + "\n"
            temporary.write_text(before + line, encoding="utf-8")

    def seconds(self, steps: Collection[str] | None = None) -> float:
        """Return how long finished steps took, in however many parts; by default all of them."""
        target = self.kept(_SECONDS)
        try:
            text = target.read_text(encoding="utf-8") if target.exists() else ""
            lines = [json.loads(line) for line in text.splitlines()]
            return float(sum(took for step, took in lines if steps is None or step in steps))
        except (ValueError, TypeError):
            raise DataError(f"{target} is damaged: delete it to count times anew") from None

    def kept(self, name: str) -> Path:
        """Return where a piece of finished work is kept."""
        return self.path / "work" / name


def _is_inside(name: object) -> bool:
    """Return whether it is a path that leads to no other folder, and may be removed."""
    if not isinstance(name, str):
        return False
    path = PurePath(name)
    return not path.is_absolute() and ".." not in path.parts


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} cannot be read: name another folder")
    return found


def _check_same(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in {**wanted, **found}:
        if name != MODELS and found.get(name) != wanted.get(name):
            raise ConfigError(
                f"{path} holds a run with {name} {found.get(name)!r}, not {wanted.get(name)!r}: "
                "name another folder, or give the same settings to go on with it"
            )
