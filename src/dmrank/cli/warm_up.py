"""`dmrank warm-up`: compile ahead, for images and services."""

from __future__ import annotations

from typing import Annotated

import typer

from dmrank.support.progress import say


def warm_up(
    model: Annotated[
        list[str] | None, typer.Option(help="A model that will be used; repeat for more.")
    ] = None,
) -> None:
    """Compile ahead what the first fit and list would wait for."""
    from dmrank.models import find_model
    from dmrank.models.warm_up import warm_up as compile_ahead

    compiled = compile_ahead(*map(find_model, model or ["hurdle"]))
    say(f"compiled {compiled} functions" if compiled else "all was compiled before")
