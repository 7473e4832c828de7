"""What a benchmark found, as a file that pages are made of: rows, command, versions, processor.

    python -m benchmarks.record            # write the tables of all records into their pages

A page has a table of a record between two comments, `<!-- record NAME: column, … -->` and
`<!-- end -->`, with semicolons where the name of a column has a comma; a test compares the two
(`tests/docs/test_quoted_tables.py`). Records of runs from before scripts wrote any were copied from
what was printed; their `note` says so.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
RECORDS = DOCS / "results" / "records"
#: What results depend on beside the code.
PACKAGES = ("dmrank", "numpy", "numba", "polars", "scipy")
_QUOTE = re.compile(
    r"(?P<head><!-- record (?P<name>[\w-]+): (?P<columns>[^>]+) -->\n)"
    r"(?P<table>.*?)(?P<tail><!-- end -->)",
    re.DOTALL,
)

#: Of a share with three digits or more, as tables of the field show it.
_LEADING_ZERO = re.compile(r"(?<![\d.])(?<!p = )0(?=\.\d{3,})")


class Quote(NamedTuple):
    """A place of a page where the table of a record stands."""

    page: Path
    name: str
    columns: list[str]
    table: str


def add_record_option(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark be told to keep what it finds."""
    parser.add_argument("--record", action="store_true", help="keep what is found, for the docs")


def as_called(script: str) -> str:
    """Return the command that started this process."""
    return shlex.join(["python", "-m", f"benchmarks.{script}", *sys.argv[1:]])


def write_record(
    name: str, command: str, rows: Sequence[Mapping[str, Any]], packages: Sequence[str] = ()
) -> Path:
    """Write the record of a benchmark that has just been run."""
    record = {
        "command": command,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": versions_here(packages),
        "processor": processor(),
        "rows": list(rows),
    }
    RECORDS.mkdir(parents=True, exist_ok=True)
    target = RECORDS / f"{name}.json"
    target.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def made_with(python: str, versions: Mapping[str, Any]) -> str:
    """Return versions as words.

    Examples
    --------
    >>> made_with("3.11.2", {"numpy": 2})
    'Python 3.11.2, numpy 2'
    """
    return ", ".join(
        [f"Python {python}", *(f"{name} {number}" for name, number in versions.items())]
    )


def processor() -> str:
    """Return what this machine computes with, as far as it says so."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores of {names[0] if names else platform.processor()}"


def versions_here(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of what results depend on."""
    return {package: version(package) for package in (*PACKAGES, *packages)}


def read_record(name: str) -> dict[str, Any]:
    """Return what was written."""
    kept = RECORDS / f"{name}.json"
    if not kept.exists():
        raise SystemExit(f"no record {name!r}, which a page quotes: run its script with --record")
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def table(record: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return rows as Markdown, the best of each column bold, and what they were made with.

    Examples
    --------
    >>> made = {"command": "x", "date": "2026-11-18", "python": "3.11.2", "versions": {"numpy": 2}}
    >>> rows = [{"model": "A", "ap": 0.25}, {"model": "B", "ap": 0.5}]
    >>> print(table({**made, "rows": rows}, ["model", "ap"]))
    | model | ap |
    |---|---:|
    | A | .2500 |
    | B | **.5000** |
    <BLANKLINE>
    `x`, 2026-11-18; Python 3.11.2, numpy 2.
    <BLANKLINE>
    """
    rows = record["rows"]
    best = {name: max(_numbers(rows, name), default=None) for name in columns}
    cells = [[_cell(row[name], best[name]) for name in columns] for row in rows]
    sides = [_side(column) for column in zip(*cells, strict=True)]
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(sides)}|"]
    lines += [f"| {' | '.join(row)} |" for row in cells]
    with_ = made_with(record["python"], record["versions"])
    on = f"; {record['processor']}" if "processor" in record else ""
    note = f" {record['note']}" if "note" in record else ""
    made = f"`{record['command']}`, {record['date']}; {with_}{on}.{note}"
    return "\n".join([*lines, "", made, ""])


def _numbers(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [round(row[name], 4) for row in rows if isinstance(row[name], float)]


def _cell(value: Any, best: float | None) -> str:
    if not isinstance(value, float):
        return _LEADING_ZERO.sub("", str(value))
    shown = _LEADING_ZERO.sub("", f"{value:.4f}")
    return f"**{shown}**" if round(value, 4) == best else shown


def _side(column: Sequence[str]) -> str:
    """Return how a column is aligned: words on the left, figures on the right."""
    return "---:" if all(re.match(r"[*+−-]*[.\d]|[–-]?$", cell) for cell in column) else "---"


def _columns(given: str) -> list[str]:
    return [column.strip() for column in given.split(";" if ";" in given else ",")]


def quotes(pages: Sequence[Path] | None = None) -> Iterator[Quote]:
    """Yield every place of the documentation where a record is quoted."""
    for page in sorted(DOCS.rglob("*.md")) if pages is None else pages:
        for found in _QUOTE.finditer(page.read_text(encoding="utf-8")):
            yield Quote(page, found["name"], _columns(found["columns"]), found["table"])


def without_quotes(text: str) -> str:
    """Return a page without its tables of records."""
    return _QUOTE.sub("", text)


def main() -> None:
    """Write every table anew."""
    for page in sorted({quote.page for quote in quotes()}):

        def put(found: re.Match[str]) -> str:
            made = table(read_record(found["name"]), _columns(found["columns"]))
            return found["head"] + made + found["tail"]

        page.write_text(_QUOTE.sub(put, page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page)


if __name__ == "__main__":
    main()
