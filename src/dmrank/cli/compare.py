"""`dmrank compare`: which of two items is better for a user."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from dmrank.answers.compare import Comparison
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.models import load
from dmrank.support.errors import UnsupportedError
from dmrank.support.plots import save
from dmrank.support.progress import say


def run(path: Path, user: str, first: str, second: str, format_: str, figure: Path | None) -> None:
    """Print the comparison; draw its direction too if a figure is asked for."""
    model = load(path)
    compared = model.compare(user, first, second)
    if figure is not None and compared.confidence is None:
        raise UnsupportedError(
            f"{type(model).__name__} has no covariance to draw: leave --figure out, or use DMR"
        )
    if format_ == "json":
        print_json(
            {
                "user": user,
                "first": first,
                "second": second,
                "confidence": compared.confidence,
                "aspects": compared.table.to_dicts(),
            }
        )
    elif format_ == "csv":
        print_csv(compared.table)
    else:
        print_comparison(console(), compared)
    if figure is not None:
        say(f"wrote {save(model.plot_comparison(user, first, second), figure)}")


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
