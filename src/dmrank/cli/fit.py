"""`dmrank fit`: learn a model from a file of ratings."""

from __future__ import annotations

from pathlib import Path

from dmrank.cli.options import ReadOptions
from dmrank.cli.parameters import parse_settings, read_config
from dmrank.models import find_model
from dmrank.support.errors import DataError
from dmrank.support.progress import say


def run(
    columns: ReadOptions,
    file: Path,
    validation: Path | None,
    model: str,
    settings: list[str],
    config: Path | None,
    out: Path,
    checkpoint: Path | None,
) -> None:
    """Fit and save; what is wrong with the settings is said before anything is read."""
    parameters = {**read_config(config), **parse_settings(settings)}
    unfitted = find_model(model)(**parameters)
    if out.is_dir():
        raise DataError(f"{out} is a directory: name the model file to write")
    ratings = columns.read(file)
    held_out = None if validation is None else columns.read(validation)
    fitted = unfitted.fit(ratings, validation=held_out, checkpoint=checkpoint)
    fitted.save(out)
    say(f"wrote {out}: {fitted!r}, {fitted.history!r}")
