"""`dmrank compare`: which of two items is better for a user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dmrank.cli.options import ModelFile, OutputFormat
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.support.errors import UnsupportedError
from dmrank.support.progress import say

if TYPE_CHECKING:
    from dmrank.answers.compare import Comparison


def compare(
    model: ModelFile,
    first: Annotated[str, typer.Argument(help="An item.", metavar="A")],
    second: Annotated[str, typer.Argument(help="Another item.", metavar="B")],
    user: Annotated[str, typer.Option(help="Whose order is asked for.", metavar="ID")],
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the comparison.")
    ] = OutputFormat.TABLE,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the direction of the difference here.")
    ] = None,
) -> None:
    """Say which of two items a user will like better on each aspect, and how sure that is."""
    from dmrank.models import load
    from dmrank.support.plots import check_drawing, save

    if figure is not None:
        check_drawing()
    fitted = load(model)
    compared = fitted.compare(user, first, second)
    if figure is not None and compared.confidence is None:
        raise UnsupportedError(
            f"{type(fitted).__name__} has no covariance to draw: leave --figure out, or use Hurdle "
            "or DMR"
        )
    if format_ == OutputFormat.JSON:
        print_json(
            {
                "user": user,
                "first": first,
                "second": second,
                "confidence": compared.confidence,
                "aspects": compared.table.to_dicts(),
            }
        )
    elif format_ == OutputFormat.CSV:
        print_csv(compared.table)
    else:
        print_comparison(console(), compared)
    if figure is not None:
        say(f"wrote {save(fitted.plot_comparison(user, first, second), figure)}")


def print_comparison(screen: Console, compared: Comparison) -> None:
    """Print the orders, and how sure they are."""
    first, second = compared.name_of(compared.first), compared.name_of(compared.second)
    table = make_table(
        "aspect", "better", "by", "probability",
        title=f"{first} or {second}, for {compared.user}",
    )  # fmt: skip
    table.columns[1].justify = "left"
    for row in compared.table.iter_rows(named=True):
        sure = "–" if row["probability"] is None else f"{row['probability']:.0%}"
        better = compared.name_of(row["better"])
        table.add_row(row["aspect"], better, f"{abs(row['difference']):.2f}", sure)
    screen.print(table)
    if compared.confidence is None:
        screen.print(
            "  A model without covariances gives orders, not how sure they are.\n", style="dim"
        )
    else:
        screen.print(
            f"  All aspects together: surer than of {compared.confidence:.0%} of random pairs.\n",
            style="dim",
        )
