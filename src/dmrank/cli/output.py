"""Tables for people (rich, in a terminal) and for machines (json, csv).

What people see has its control characters escaped, piped or not: text passes through many hands to
a terminal. What machines read is exact, unless it is a terminal that reads it.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmrank.support.terminal import printable, printable_lines

if TYPE_CHECKING:
    import polars as pl

#: Wide enough for any table when the output is a file or a pipe, where nothing needs to wrap.
_PIPE_WIDTH = 200
#: What JSON lets through and a terminal may obey.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class _Console(Console):
    """Prints strings with their control characters escaped."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable_lines(text), **options)


class _Table(Table):
    """Keeps every cell on one line."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(_one_line(cell) for cell in cells), **options)


def console() -> Console:
    """Return the console for results; plain text without colours when piped.

    Names of users, items and aspects are shown as they are, whatever [brackets] they have.
    """
    standard = _Console(markup=False, emoji=False)
    if not standard.is_terminal:
        standard.width = _PIPE_WIDTH
    return standard


def print_json(value: Any) -> None:
    r"""Print a value as JSON; what a terminal may obey is written as ``\u009b``: the same value."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    print(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_csv(table: pl.DataFrame, *, safe_cells: bool = False, header: bool = True) -> None:
    """Print a table, or a further block of one, as csv; see `support.files.safe_cells`."""
    from dmrank.support.files import with_safe_cells

    cells = with_safe_cells(table.lazy()).collect() if safe_cells else table
    text = cells.write_csv(include_header=header)
    # A reader that waits for the first rows gets them at once.
    print(printable_lines(text) if sys.stdout.isatty() else text, end="", flush=True)


def make_table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table whose first column is text and whose others are numbers."""
    table = _Table(title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    table.title = None if title is None else printable(title)
    for position, column in enumerate(columns):
        shown = printable(column)
        table.add_column(shown, justify="left" if position == 0 else "right", no_wrap=True)
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


def _one_line(cell: Any) -> Any:
    return printable(cell) if isinstance(cell, str) else cell
