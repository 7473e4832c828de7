"""`dmrank fit`: learn a model from a file of ratings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.commands import examples
from dmrank.cli.model_file import interrupted_file, save_model
from dmrank.cli.options import ModelName, RatingsFile
from dmrank.cli.parameters import parse_settings, read_config
from dmrank.cli.stopping import Stopped, stopping
from dmrank.support.progress import say
from dmrank.support.targets import check_folder, check_target

if TYPE_CHECKING:
    from dmrank.models import Model


@examples(
    "dmrank fit ratings.csv --out model.dmrank",
    "dmrank fit parts/train.parquet --model ease --set regularization=100 --out ease.dmrank",
)
@runs_on_cluster
@reads_ratings
def fit(
    columns: ReadOptions,
    file: RatingsFile,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    model: ModelName = "hurdle",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter, of a member as ease.regularization=100; repeat for more.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a toml file.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Same seed, same model. Default: 0.", metavar="NUMBER")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads; the model does not depend on it. Default: every core.", metavar="NUMBER"
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Held-out ratings for early stopping. Without, hurdle and blend hold some out by "
            "themselves, and then learn from all.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save the state in, and to go on from.")
    ] = None,
    card: Annotated[
        bool, typer.Option("--card", help="Also write a model card beside the model, as .md.")
    ] = False,
) -> None:
    """Learn a model from ratings and write it into one file."""
    from dmrank.answers.card.card import card_path
    from dmrank.models import find_model

    # What is wrong with the settings is said before anything is read.
    parameters = {**read_config(config), **parse_settings(set_, seed=seed, threads=threads)}
    unfitted = find_model(model)(**parameters)
    check_target(out)
    if card:
        check_target(card_path(out))
    if checkpoint is not None:
        check_folder(checkpoint)
    ratings = columns.read(file)
    held_out = None if validation is None else columns.read(validation)
    with stopping(f"no model was written; {_state(checkpoint)}"):
        fitted = unfitted.fit(ratings, validation=held_out, checkpoint=checkpoint)
        _check_finished(fitted, out, checkpoint)
    save_model(fitted, out)
    interrupted_file(out).unlink(missing_ok=True)
    say(f"wrote {out}: {', '.join(filter(None, (repr(fitted), fitted.history.summary())))}")
    if card:
        say(f"wrote {fitted.card(file=out.name).write(card_path(out))}, its card")
    for line in _parts(fitted):
        say(line)


def _check_finished(fitted: Model, out: Path, checkpoint: Path | None) -> None:
    """End the command if the fit was stopped, with the best model so far beside its place."""
    from dmrank.training.history import INTERRUPTED

    if fitted.history.stopped != INTERRUPTED:
        return
    if not fitted.history.iterations:
        raise KeyboardInterrupt  # before anything was learned
    kept = save_model(fitted, interrupted_file(out))
    raise Stopped(f"the best model so far is in {kept}; {_state(checkpoint)}")


def _state(checkpoint: Path | None) -> str:
    """Say how to go on with a fit that was stopped."""
    if checkpoint is None:
        return "with --checkpoint FOLDER, the same command goes on where it was stopped"
    return f"the same command goes on from {checkpoint}"


def _parts(fitted: Model) -> Iterator[str]:
    """Say what a model is made of, and how lists weigh it."""
    from dmrank.models import Blend, Hurdle

    if isinstance(fitted, Blend | Hurdle):
        members = [type(member).__name__ for member in fitted.members.values()]
        yield f"made of {', '.join(members)}"
    if isinstance(fitted, Hurdle):
        yield (
            f"lists are {fitted.preference:.0%} preference, the rest exposure: "
            "dmrank recommend --preference, from 0 to 1, asks for another share"
        )
