"""`dmrank check`: whether files of dmrank are whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.commands import examples
from dmrank.support.errors import ModelFileError
from dmrank.support.progress import say


@examples("dmrank check model.dmrank", "dmrank check model.dmrank ease.dmrank")
def check(
    files: Annotated[
        list[Path],
        typer.Argument(help="Models, indexes, checkpoints, learned polarities.", metavar="FILE..."),
    ],
) -> None:
    """Check every array of files that dmrank wrote: checksums, types, shapes and values."""
    for file in files:
        say(f"{file}: {check_file(file)}")


def check_file(path: str | os.PathLike[str]) -> str:
    """Return what a file is, after a check of all that is in it."""
    from dmrank.support.containers import read_container

    container = read_container(path)
    content = container.content or _older(container.metadata.keys())
    if content not in _CHECKS:
        raise ModelFileError(f"{path} holds {content!r}, which this version of dmrank cannot check")
    named = _CHECKS[content](path)
    container.arrays.make_all()
    size = sum(array.nbytes for array in container.arrays.values())
    by = "checksums, types, shapes and values are right"
    if container.format == 1:
        by = "types, shapes and values are right; format 1 has no checksums, save it again"
    return f"{named}, {len(container.arrays)} arrays, {size / 1e6:,.1f} MB: {by}"


def _older(names: Iterable[str]) -> str | None:
    """Return what a file of format 1 is, which does not say so."""
    found = set(names)
    marks = {"model": "model", "n_items": "index", "run": "checkpoint", "kind": "polarity"}
    return next((content for mark, content in marks.items() if mark in found), None)


def _model(path: str | os.PathLike[str]) -> str:
    from dmrank.models import load

    model = load(path)
    list(model.arrays.values())
    model.catalogue.read_ids()
    return f"a fitted {type(model).__name__}"


def _index(path: str | os.PathLike[str]) -> str:
    from dmrank.answers.index import read_partition

    partition, arrays = read_partition(path)
    arrays.make_all()
    return f"an index of {partition.n_items:,} items"


def _checkpoint(path: str | os.PathLike[str]) -> str:
    from dmrank.training.checkpoints import check_checkpoint

    about = check_checkpoint(path)
    return f"a checkpoint of iteration {about.iteration:,}"


def _polarity(path: str | os.PathLike[str]) -> str:
    from dmrank.text.polarity import load_polarity

    return repr(load_polarity(path))


_CHECKS: dict[str, Callable[[str | os.PathLike[str]], str]] = {
    "model": _model,
    "index": _index,
    "checkpoint": _checkpoint,
    "polarity": _polarity,
}
