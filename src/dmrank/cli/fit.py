"""`dmrank fit`: learn a model from a file of ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.options import RatingsFile
from dmrank.cli.parameters import parse_settings, read_config
from dmrank.support.errors import DataError
from dmrank.support.progress import say


@reads_ratings
def fit(
    columns: ReadOptions,
    file: RatingsFile,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    model: Annotated[str, typer.Option(help="Which model, such as dmr.")] = "dmr",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter; repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a toml file.")] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Held-out ratings for early stopping.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save the state in, and to go on from.")
    ] = None,
) -> None:
    """Learn a model from ratings and write it into one file."""
    from dmrank.models import find_model

    # What is wrong with the settings is said before anything is read.
    parameters = {**read_config(config), **parse_settings(set_)}
    unfitted = find_model(model)(**parameters)
    if out.is_dir():
        raise DataError(f"{out} is a directory: name the model file to write")
    ratings = columns.read(file)
    held_out = None if validation is None else columns.read(validation)
    fitted = unfitted.fit(ratings, validation=held_out, checkpoint=checkpoint)
    fitted.save(out)
    say(f"wrote {out}: {fitted!r}, {fitted.history!r}")
