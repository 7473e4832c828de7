"""`--cluster`: the same option for every command that can use more than one machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from dmrank.cli.signatures import add_options

_PANEL = "Cluster"

Where = Annotated[
    str | None,
    typer.Option(
        help="Run on a Ray cluster, with the same result: auto (one that is running), local:4 "
        "(four workers on this machine, for this command), or an address.",
        metavar="WHERE",
        rich_help_panel=_PANEL,
    ),
]
SharedFolder = Annotated[
    Path | None,
    typer.Option(
        "--cluster-folder",
        help="A folder that all nodes see; default: a temporary one, on one machine.",
        rich_help_panel=_PANEL,
    ),
]


def runs_on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option `--cluster`, and run it there if it is given."""

    @wraps(command)
    def with_options(
        *arguments: Any, cluster: str | None = None, folder: Path | None = None, **given: Any
    ) -> None:
        if cluster is None:
            command(*arguments, **given)
            return
        from dmrank.distributed.cluster import cluster as connected

        with connected(cluster, folder=folder):
            command(*arguments, **given)

    add_options(with_options, command, {"cluster": (Where, None), "folder": (SharedFolder, None)})
    return with_options
