"""`dmrank warm-up`: compile ahead, for images and services."""

from __future__ import annotations

from typing import Annotated

import typer

from dmrank.cli.commands import examples
from dmrank.cli.options import MODEL_HELP, complete_model
from dmrank.support.progress import say


@examples(
    "dmrank warm-up",
    "dmrank warm-up --model hurdle --model dmr",
)
def warm_up(
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=f"A model that will be used; repeat for more. {MODEL_HELP}",
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ] = None,
) -> None:
    """Compile ahead what the first fit and list would wait for."""
    from dmrank.models import find_model
    from dmrank.models.warm_up import warm_up as compile_ahead

    compiled = compile_ahead(*map(find_model, model or ["hurdle"]))
    say(f"compiled {compiled} functions" if compiled else "all was compiled before")
