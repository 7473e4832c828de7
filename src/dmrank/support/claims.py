"""Folders of work that goes on when it is started again: of one run each, and never of two."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dmrank.support.errors import ConfigError
from dmrank.support.files import atomic_path, read_json

#: What a folder of parts says of its run.
RUN: Final = "run.json"
#: How the folder is called in which the parts of a file are made: beside it, with this ending.
OF_PARTS: Final = ".parts"


def parts_folder(target: Path) -> Path:
    """Return where the parts of a file are made.

    Examples
    --------
    >>> parts_folder(Path("lists.parquet")).name
    'lists.parquet.parts'
    """
    return target.with_name(target.name + OF_PARTS)


def claim_folder(folder: Path, run: Mapping[str, Any]) -> None:
    """Take a folder for the parts of a run; refuse one with parts of another.

    Parameters
    ----------
    folder : Path
        It need not exist yet.
    run : mapping of str to JSON value
        What identifies the run.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "lists.parts"
    >>> claim_folder(folder, {"n": 10})
    >>> claim_folder(folder, {"n": 10})
    >>> claim_folder(folder, {"n": 20})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dmrank.ConfigError: ...lists.parts has parts of another run (its n is 10, not 20): ...
    """
    wanted = json.loads(json.dumps(run))
    file = folder / RUN
    if not file.exists():
        if folder.name.endswith(OF_PARTS):
            # A name that we gave: whatever is here was left before its run was known.
            shutil.rmtree(folder, ignore_errors=True)
        elif folder.is_dir() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is not empty, and no work of this kind was begun there: choose another "
                "--out"
            )
        with atomic_path(file) as temporary:
            temporary.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
        return
    stored = read_json(file, f"delete {folder} to start anew")
    for name, value in wanted.items():
        if stored.get(name) != value:
            raise ConfigError(
                f"{folder} has parts of another run (its {name} is {stored.get(name)!r}, not "
                f"{value!r}): delete the folder, or choose another --out"
            )
