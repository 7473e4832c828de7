"""`dmrank stats`: what is in a file of ratings."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.options import OutputFormat, RatingsFile
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.support.progress import say

if TYPE_CHECKING:
    from dmrank.data.ratings import Ratings
    from dmrank.data.statistics import Statistics


@reads_ratings
def stats(
    columns: ReadOptions,
    file: RatingsFile,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the result.")
    ] = OutputFormat.TABLE,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw distribution and correlations here.")
    ] = None,
) -> None:
    """Show how many users, items and ratings a file has, and what its aspects are like."""
    from dmrank.data.statistics import describe
    from dmrank.support.plots import check_drawing

    if figure is not None:
        check_drawing()
    ratings = columns.read(file)
    statistics = describe(ratings)
    if format_ == OutputFormat.JSON:
        print_json(statistics.to_dict())
    elif format_ == OutputFormat.CSV:
        print_csv(statistics.per_aspect())
    else:
        print_statistics(statistics, ratings.primary_aspect)
    if figure is not None:
        say(f"wrote {draw(ratings, statistics, figure)}")


def draw(ratings: Ratings, statistics: Statistics, path: Path) -> Path:
    """Draw the distribution of the ratings and the correlation of the aspects."""
    from dmrank.support.plots import draw_ratings, save

    drawn = draw_ratings(ratings.values, ratings.scale, statistics.correlation, statistics.aspects)
    return save(drawn, path)


def print_statistics(statistics: Statistics, primary_aspect: str) -> None:
    """Print the paper's Table 1 and a row per aspect."""
    screen = console()
    sizes = make_table("", "count", "least", "median", "most", title="Ratings")
    for name, count, spread in (
        ("users", statistics.users, statistics.ratings_per_user),
        ("items", statistics.items, statistics.ratings_per_item),
    ):
        sizes.add_row(name, f"{count:,}", *(f"{number:,.0f}" for number in spread))
    sizes.add_row("aspects", str(len(statistics.aspects)))
    sizes.add_row("ratings", f"{statistics.ratings:,}")
    sizes.add_row("density", f"{statistics.density:.3%}")
    screen.print(sizes)
    screen.print("  least, median, most: rating vectors per user and per item\n", style="dim")
    screen.print(_aspect_table(statistics, primary_aspect))


def _aspect_table(statistics: Statistics, primary_aspect: str) -> Table:
    primary = statistics.aspects.index(primary_aspect)
    table = make_table(
        "aspect", "missing", "scale", "mean", "deviation", f"r with {primary_aspect}",
        title="Aspects",
    )  # fmt: skip
    for k, name in enumerate(statistics.aspects):
        table.add_row(
            name,
            f"{statistics.missing[k]:.1%}",
            f"{_number(statistics.low[k])}–{_number(statistics.high[k])}",
            _number(statistics.mean[k], ".2f"),
            _number(statistics.deviation[k], ".2f"),
            _number(statistics.correlation[primary, k], ".2f"),
        )
    return table


def _number(value: float, format_: str = "g") -> str:
    return "–" if isnan(value) else format(value, format_)
