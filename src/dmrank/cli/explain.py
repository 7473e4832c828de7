"""`dmrank explain`: why an item is recommended to a user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dmrank.answers.by_text import parse_by
from dmrank.cli.commands import examples
from dmrank.cli.options import ModelFile, OutputFormat, SafeCells
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.support.progress import say
from dmrank.support.terminal import printable

if TYPE_CHECKING:
    from dmrank.answers.explain import Explanation


@examples(
    "dmrank explain model.dmrank --user u000012 --item h000001 --by value",
    "dmrank explain model.dmrank --user u000012 --item h000001 --template '{item}: {aspects}'",
)
def explain(
    model: ModelFile,
    user: Annotated[str, typer.Option(help="To whom the item is recommended.", metavar="ID")],
    item: Annotated[str, typer.Option(help="The item.", metavar="ID")],
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="What is ranked by: an aspect, or ASPECT=WEIGHT; repeat for a mix.",
            metavar="ASPECT[=WEIGHT]",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="The sentence, with {item}, {first}, {second}, {aspects}, {by}, {user}; "
            "{aspects: und } joins aspects by 'und'."
        ),
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the explanation.")
    ] = OutputFormat.TABLE,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the item's predicted ratings here.")
    ] = None,
    safe_cells: SafeCells = False,
) -> None:
    """Say why an item is recommended to a user: which aspects matter, and how they were rated."""
    from dmrank.models import load
    from dmrank.support.plots import check_figure, save

    if figure is not None:
        check_figure(figure)
    fitted = load(model)
    why = fitted.explain(user, item, parse_by(by), template=template)
    if format_ == OutputFormat.JSON:
        print_json(
            {
                "user": why.user,
                "item": why.item,
                "by": why.by,
                "sentence": why.sentence,
                "aspects": why.table.to_dicts(),
            }
        )
    elif format_ == OutputFormat.CSV:
        print_csv(why.table, safe_cells=safe_cells)
    else:
        print_explanation(console(), why)
    if figure is not None:
        say(f"wrote {save(fitted.plot_profile(user, item), figure)}")


def print_explanation(screen: Console, why: Explanation) -> None:
    """Print the sentence, and what speaks for it."""
    screen.print(printable(why.sentence), style="bold", highlight=False)
    table = make_table(
        "aspect", "relevance", "item's mean", "ratings", f"{why.user}'s mean", "ratings"
    )
    for aspect, relevance, *evidence in why.table.iter_rows():
        item_mean, item_ratings, user_mean, user_ratings = evidence
        table.add_row(
            aspect,
            *(_number(relevance), _number(item_mean), _count(item_ratings)),
            *(_number(user_mean), _count(user_ratings)),
        )
    screen.print(table)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
