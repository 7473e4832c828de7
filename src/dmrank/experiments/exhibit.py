"""What an experiment shows: a table or a figure, with its data and a note for the reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the report.

    Attributes
    ----------
    name : str
        Name of its files, such as ``table-2``.
    title : str
        One line.
    note : str
        What it shows, and how to read it.
    data : polars.DataFrame
        Its numbers.
    shown : polars.DataFrame or None
        The table for people, all text; None for a figure whose numbers stay in the csv file.
    draw : callable or None
        Makes the figure.
    """

    name: str
    title: str
    note: str
    data: pl.DataFrame
    shown: pl.DataFrame | None = None
    draw: Callable[[], Figure] | None = None


def number(value: float | None, digits: int = 4) -> str:
    """Write a number as in the paper's tables.

    Examples
    --------
    >>> number(0.08674), number(None), number(float("nan"))
    ('0.0867', '–', '–')
    """
    return "–" if value is None or value != value else f"{value:.{digits}f}"  # noqa: PLR0124


def with_best_bold(
    table: pl.DataFrame, column: str, digits: int = 4, low: bool = False
) -> pl.Series:
    """Write a column of numbers, the best one in bold.

    Examples
    --------
    >>> with_best_bold(pl.DataFrame({"map": [0.1, 0.2]}), "map", digits=1).to_list()
    ['0.1', '**0.2**']
    """
    values = table[column].fill_nan(None)
    best = values.min() if low else values.max()
    texts = [number(value, digits) for value in values]
    marked = [
        f"**{text}**" if value == best else text for text, value in zip(texts, values, strict=True)
    ]
    return pl.Series(column, marked)


def as_text(table: pl.DataFrame, digits: int = 4) -> pl.DataFrame:
    """Write every cell of a table for people.

    Examples
    --------
    >>> as_text(pl.DataFrame({"model": ["DMR"], "users": [12345], "share": [0.5]})).row(0)
    ('DMR', '12,345', '0.5000')
    """

    def text(value: object) -> str:
        if value is None or isinstance(value, float):
            return number(value, digits)
        return f"{value:,}" if isinstance(value, int) else str(value)

    return pl.DataFrame({name: [text(value) for value in table[name]] for name in table.columns})
