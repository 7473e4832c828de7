"""`dmrank explain`: why an item is recommended to a user."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from dmrank.answers.explain import Explanation
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.cli.recommend import parse_by
from dmrank.models import load
from dmrank.support.plots import save
from dmrank.support.progress import say


def run(
    path: Path,
    user: str,
    item: str,
    by: list[str],
    template: str | None,
    format_: str,
    figure: Path | None,
) -> None:
    """Print the explanation; draw the item's profile too if a figure is asked for."""
    model = load(path)
    why = model.explain(user, item, parse_by(by), template=template)
    if format_ == "json":
        print_json(
            {
                "user": user,
                "item": item,
                "by": why.by,
                "sentence": why.sentence,
                "aspects": why.table.to_dicts(),
            }
        )
    elif format_ == "csv":
        print_csv(why.table)
    else:
        print_explanation(console(), why)
    if figure is not None:
        say(f"wrote {save(model.plot_profile(user, item), figure)}")


def print_explanation(screen: Console, why: Explanation) -> None:
    """Print the sentence, and what speaks for it."""
    screen.print(why.sentence, style="bold", highlight=False)
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
