"""`dmrank card`: what is known of a model, and what is not."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.commands import examples
from dmrank.cli.options import ModelFile
from dmrank.cli.output import print_json
from dmrank.support.progress import say
from dmrank.support.targets import check_target
from dmrank.support.terminal import printable_lines


class CardFormat(StrEnum):
    """How a card is printed."""

    MARKDOWN = "markdown"
    JSON = "json"


@examples("dmrank card model.dmrank", "dmrank card model.dmrank --license mit --out README.md")
def card(
    model: ModelFile,
    name: Annotated[
        str | None, typer.Option(help="What the model is called. Default: the name of its file.")
    ] = None,
    license_: Annotated[
        str | None, typer.Option("--license", help="Of the model, such as apache-2.0, for hubs.")
    ] = None,
    format_: Annotated[
        CardFormat, typer.Option("--format", help="How to print the card.")
    ] = CardFormat.MARKDOWN,
    out: Annotated[
        Path | None, typer.Option(help="Write the card here instead: .md or .json.")
    ] = None,
) -> None:
    """Describe a model: training ratings, figures, parameters, and whom it serves badly."""
    from dmrank.answers.card.card import check_card_path
    from dmrank.models import load

    if out is not None:
        check_target(check_card_path(out))
    made = load(model).card(name or model.stem, license=license_, file=model.name)
    if out is not None:
        say(f"wrote {made.write(out)}")
    elif format_ == CardFormat.JSON:
        print_json(made.to_dict())
    else:
        print(printable_lines(made.to_markdown()), end="")
