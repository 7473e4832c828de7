"""What a terminal and a notebook show of a result: a line of text and a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import polars as pl


def text(title: str, table: pl.DataFrame, digits: int = 4) -> str:
    """Return a title and a table as plain text.

    Examples
    --------
    >>> print(text("Means", pl.DataFrame({"aspect": ["value"], "mean": [3.14159]})))
    Means
     aspect    mean
     value   3.1416
    """
    with pl.Config(
        tbl_formatting="NOTHING",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=60,
        float_precision=digits,
        tbl_cell_numeric_alignment="RIGHT",
    ):
        rows = str(table).splitlines()
    return "\n".join([title, *(row.rstrip() for row in rows)])


def html(title: str, table: pl.DataFrame, digits: int = 3) -> str:
    """Return a title and a table as HTML.

    Parameters
    ----------
    title : str
        Above the table; a line break in it stays one.
    table : polars.DataFrame
        Floats are rounded; what is null or NaN is a dash.
    digits : int
        Digits of floats after the point.

    Examples
    --------
    >>> print(html("Two & two", pl.DataFrame({"aspect": ["value"], "mean": [3.14159]})))
    <p>Two &amp; two</p>
    <table>
    <tr><th style="text-align:left">aspect</th><th>mean</th></tr>
    <tr><td style="text-align:left">value</td><td>3.142</td></tr>
    </table>
    """
    is_text = [not dtype.is_numeric() for dtype in table.dtypes]
    head = _row("th", table.columns, is_text)
    rows = [
        _row("td", [_cell(value, digits) for value in row], is_text) for row in table.iter_rows()
    ]
    shown = escape(title).replace("\n", "<br>")
    return "\n".join([f"<p>{shown}</p>", "<table>", head, *rows, "</table>"])


def _row(tag: str, cells: Iterable[str], is_text: list[bool]) -> str:
    inside = "".join(
        f'<{tag} style="text-align:left">{escape(cell)}</{tag}>'
        if text
        else f"<{tag}>{escape(cell)}</{tag}>"
        for cell, text in zip(cells, is_text, strict=True)
    )
    return f"<tr>{inside}</tr>"


def _cell(value: object, digits: int) -> str:
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)
