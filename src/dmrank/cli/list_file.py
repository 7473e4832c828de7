"""Lists of many users in a file or a folder: they pass through in blocks, however many."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dmrank.cli.stopping import stopping
from dmrank.data.ids import Id
from dmrank.distributed.lists import write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.models import Model
from dmrank.models.opened import ModelFile
from dmrank.support.errors import ConfigError
from dmrank.support.files import check_table
from dmrank.support.progress import bar
from dmrank.support.streams import write_frames
from dmrank.support.targets import check_folder
from dmrank.support.workers import current_workers

_USERS_AT_ONCE = 16_384


def is_folder(out: str) -> bool:
    """Return whether a place is named as a folder.

    Examples
    --------
    >>> is_folder("lists/"), is_folder("lists.parquet")
    (True, False)
    """
    return out.endswith(("/", os.sep))


def check_lists(out: str, *, safe_cells: bool = False) -> None:
    """Raise if lists cannot be written there, before anything is done for them."""
    if not is_folder(out):
        check_table(Path(out), safe_cells=safe_cells)
        return
    if safe_cells:
        raise ConfigError(f"{out}: --safe-cells is for .csv and .tsv files, parts are parquet")
    check_folder(out)


def write_lists(
    model: Model,
    file: Path,
    users: Sequence[Id],
    n: int,
    options: dict[str, Any],
    out: str,
    *,
    safe_cells: bool = False,
) -> int:
    """Write the lists that a model, opened from a file, has for users; return the rows."""
    place = Path(out)
    if is_folder(out) or current_workers() is not None:
        parts = PartSettings(place, not is_folder(out), _USERS_AT_ONCE, safe_cells)
        with stopping(f"what is done is in {parts.folder}, from where the same command goes on"):
            return write_list_parts(ModelFile.at(file), users, n, options, parts)
    schema = model.recommend([], n, **options).schema
    return write_frames(_ranked(model, users, n, options), schema, place, safe_cells=safe_cells)


def _ranked(
    model: Model, users: Sequence[Id], n: int, options: dict[str, Any]
) -> Iterator[pl.DataFrame]:
    lists = model.recommend_blocks(users, n, users_per_block=_USERS_AT_ONCE, **options)
    with bar("ranking", total=len(users)) as progress:
        for done, block in enumerate(lists, start=1):
            progress.update(min(done * _USERS_AT_ONCE, len(users)))
            yield block
