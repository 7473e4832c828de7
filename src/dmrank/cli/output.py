"""Tables for people (rich, in a terminal) and for machines (json, csv)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import polars as pl

#: Wide enough for any table when the output is a file or a pipe, where nothing needs to wrap.
_PIPE_WIDTH = 200


def console() -> Console:
    """Return the console for results; plain text without colours when piped.

    Names of users, items and aspects are shown as they are, whatever [brackets] they have.
    """
    standard = Console(markup=False, emoji=False)
    if not standard.is_terminal:
        standard.width = _PIPE_WIDTH
    return standard


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_csv(table: pl.DataFrame) -> None:
    """Print a table as csv."""
    print(table.write_csv(), end="")


def make_table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table whose first column is text and whose others are numbers."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right", no_wrap=True)
    return table


def print_table(screen: Console, rows: pl.DataFrame, title: str) -> None:
    """Print a data frame; numbers with fractions get three digits."""
    table = make_table(*rows.columns, title=title)
    for column, kind in zip(table.columns, rows.dtypes, strict=True):
        column.justify = "right" if kind.is_numeric() else "left"
    for row in rows.iter_rows():
        table.add_row(*(_cell(value) for value in row))
    screen.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
