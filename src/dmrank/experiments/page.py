"""The report as one self-contained page, and tables as Markdown."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dmrank.experiments.exhibit import Exhibit

_STYLE = """
:root { color-scheme: light; --ink: #1d2126; --faint: #6a737d; --line: #e3e6ea; --mark: #0072b2; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); margin: 0 auto;
       padding: 2rem 1.5rem 5rem; max-width: 78rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; } h2 { font-size: 1.25rem; margin: 3rem 0 .4rem; }
p.note { color: var(--faint); max-width: 46rem; margin: .2rem 0 1rem; }
nav { columns: 2; font-size: .95rem; margin: 1.5rem 0; } nav a { display: block; padding: .1rem 0; }
a { color: var(--mark); text-decoration: none; } a:hover { text-decoration: underline; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .75rem; text-align: right; border-bottom: 1px solid var(--line);
         white-space: nowrap; }
th { border-bottom: 2px solid var(--ink); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
.facts td { text-align: left; white-space: normal; } .facts thead { display: none; }
td b { color: var(--mark); }
img { max-width: 100%; height: auto; }
.files { font-size: .85rem; color: var(--faint); }
@media print { nav { display: none; } h2 { break-after: avoid; } }
"""


#: Columns of words, which begin on the left as the first one does; the others are figures.
WORDS = ("settings",)


@dataclass(frozen=True)
class Section:
    """An exhibit with the files that were written for it, relative to the page."""

    exhibit: Exhibit
    files: Sequence[str]
    picture: Path | None


def to_markdown(table: pl.DataFrame) -> str:
    """Write a table of text as Markdown.

    Examples
    --------
    >>> print(to_markdown(pl.DataFrame({"model": ["DMR"], "MAP": ["**0.1**"]})))
    | model | MAP |
    |---|---:|
    | DMR | **0.1** |
    """
    lines = [
        table.columns,
        ["---" if name in WORDS or n == 0 else "---:" for n, name in enumerate(table.columns)],
        *table.iter_rows(),
    ]
    joined = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    joined[1] = joined[1].replace(" ", "")
    return "\n".join(joined)


def to_html(table: pl.DataFrame) -> str:
    """Write a table of text as HTML; ``**bold**`` is bold."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(str(cell))}</td>" for cell in row) + "</tr>"
        for row in table.iter_rows()
    )
    head = f"<thead><tr>{head}</tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'


def make_page(
    title: str, summary: str, sections: Sequence[Section], facts: Mapping[str, str]
) -> str:
    """Return the whole page; it needs no other file.

    Parameters
    ----------
    title, summary : str
        Heading, and a sentence under it.
    sections : sequence of Section
        Tables and figures in their order.
    facts : mapping of str to str
        Settings, seeds, versions, machine and run time.
    """
    links = "".join(
        f'<a href="#{section.exhibit.name}">{html.escape(section.exhibit.title)}</a>'
        for section in sections
    )
    body = "".join(_section(section) for section in sections)
    about = to_html(pl.DataFrame({"what": list(facts), "value": list(facts.values())}))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f'<h1>{html.escape(title)}</h1><p class="note">{html.escape(summary)}</p>'
        f'<nav>{links}<a href="#run">About this run</a></nav>{body}'
        f'<section class="facts"><h2 id="run">About this run</h2>{about}</section>'
        "</body></html>\n"
    )


def _section(section: Section) -> str:
    exhibit = section.exhibit
    parts = [
        f'<h2 id="{exhibit.name}">{html.escape(exhibit.title)}</h2>',
        f'<p class="note">{html.escape(exhibit.note)}</p>',
    ]
    if section.picture is not None:
        encoded = base64.b64encode(section.picture.read_bytes()).decode()
        parts.append(
            f'<img alt="{html.escape(exhibit.title)}" src="data:image/png;base64,{encoded}">'
        )
    if exhibit.shown is not None:
        parts.append(to_html(exhibit.shown))
    links = ", ".join(f'<a href="{name}">{Path(name).name}</a>' for name in section.files)
    parts.append(f'<p class="files">{links}</p>')
    return "".join(parts)


def _cell(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
