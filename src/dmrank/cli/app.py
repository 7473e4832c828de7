"""The command line: its commands, each with its options and its work in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from dmrank.cli.aspects import aspects
from dmrank.cli.card import card
from dmrank.cli.check import check
from dmrank.cli.commands import CommandGroup, Quiet, add_command, examples, silenced
from dmrank.cli.compare import compare
from dmrank.cli.demo import demo
from dmrank.cli.evaluate import evaluate
from dmrank.cli.explain import explain
from dmrank.cli.extract import extract
from dmrank.cli.fit import fit
from dmrank.cli.fold_in import fold_in
from dmrank.cli.keys import keys
from dmrank.cli.paper import paper
from dmrank.cli.prepare import prepare
from dmrank.cli.ratings import ratings
from dmrank.cli.recommend import recommend
from dmrank.cli.serve import serve
from dmrank.cli.stats import stats
from dmrank.cli.tune import tune
from dmrank.cli.warm_up import warm_up
from dmrank.support.version import __version__

_EXIT_CODES = """
 Exit codes:
   0     done, or the reader of a pipe has seen enough
   1     a fault in dmrank itself, with a traceback
   2     a mistake in what was given, which standard error names
   130   interrupted by Ctrl-C
   143   ended by SIGTERM
"""

app = typer.Typer(
    name="dmrank",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"dmrank {__version__}")
        raise typer.Exit


@app.callback()
@examples(
    "dmrank demo",
    "dmrank fit ratings.csv --out model.dmrank",
    then=_EXIT_CODES,
)
def options(
    context: typer.Context,
    quiet: Quiet = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Rank items by several aspects at once."""
    del version  # has been shown
    if quiet:
        context.with_resource(silenced())


# In the order of the help text.
for command in (
    *(demo, stats, prepare, fit, evaluate, recommend, fold_in, compare, explain),
    *(serve, tune, paper, extract, card, check, warm_up),
):
    add_command(app, command)
for name, group in {"aspects": aspects, "keys": keys, "ratings": ratings}.items():
    app.add_typer(group, name=name)
