"""`dmrank keys`: who may ask a service that others can reach."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dmrank.cli.commands import CommandGroup, add_command, examples
from dmrank.support.progress import say

keys = typer.Typer(cls=CommandGroup, no_args_is_help=True)


class KeyScope(StrEnum):
    """What a key allows."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@keys.callback()
@examples(
    "dmrank keys new keys.toml --name shop",
    "dmrank keys new keys.toml --name web --scope read --scope write --rate 500",
)
def options() -> None:
    """Keys of `dmrank serve`."""


@examples(
    "dmrank keys new keys.toml --name shop",
    "dmrank keys new keys.toml --name web --scope read --scope write --rate 500",
)
def new(
    file: Annotated[Path, typer.Argument(help="File of keys; made if it is not there.")],
    name: Annotated[str, typer.Option(help="What the key is called in logs.")],
    scope: Annotated[
        list[KeyScope] | None,
        typer.Option(
            help="read: lists and other questions; write: ratings; admin: everything. Repeat for "
            "more. Default: read."
        ),
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests per second.", min=0.01)] = 100.0,
) -> None:
    """Make a key, and print it: the file keeps its hash alone."""
    from dmrank.service.keys import add_key
    from dmrank.support.extras import require

    require("granian", "dmrank keys")
    scopes: tuple[Any, ...] = tuple(each.value for each in scope or [KeyScope.READ])
    print(add_key(file, name, scopes, rate))
    say(f"this is the only time that the key is shown; {file} has its hash")


add_command(keys, new)
