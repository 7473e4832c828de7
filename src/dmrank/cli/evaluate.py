"""`dmrank evaluate`: judge model files on test ratings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

from dmrank.cli.options import ReadOptions
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.data.reading.read import join_parts
from dmrank.evaluation import Report, evaluate
from dmrank.evaluation.judge import DEFAULT_METRICS
from dmrank.models import Model, load
from dmrank.support.progress import say


def run(
    columns: ReadOptions,
    models: list[Path],
    parts: tuple[Path, Path, Path],
    protocol: str,
    metrics: list[str] | None,
    per_aspect: bool,
    format_: str,
) -> None:
    """Print how well models rank; stars say what is significantly below the best."""
    opened = _by_name(models)
    split = join_parts(*(columns.read(part) for part in parts))
    report = evaluate(opened, split, protocol=protocol, metrics=metrics or DEFAULT_METRICS)
    table = report.by_aspect() if per_aspect else report.table()
    if format_ == "json":
        print_json(table.to_dicts())
    elif format_ == "csv":
        print_csv(table)
    else:
        _print(report, table, per_aspect)
    if report.left_out:
        say(f"{report.left_out:,} test rows of users or items without a training row were left out")


def _by_name(paths: list[Path]) -> dict[str, Model]:
    """Open models; names are those of the files, with the folder where that is not enough."""
    stems = Counter(path.stem for path in paths)
    return {path.stem if stems[path.stem] == 1 else str(path): load(path) for path in paths}


def _print(report: Report, table: pl.DataFrame, per_aspect: bool) -> None:
    screen = console()
    what = f"by {report.primary_aspect}, and averaged over aspects"
    title = f"{report.protocol} ranking of {len(report.users):,} users"
    shown = make_table(*table.columns, title=title if per_aspect else f"{title}, {what}")
    for row in table.iter_rows():
        shown.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row))
    screen.print(shown)
    for metric in report.metrics:
        for one in report.significance(metric):
            star = " *" if one.is_significant else ""
            screen.print(
                f"  {metric}: {one.best} − {one.other} = {one.difference:+.4f} "
                f"({one.improvement:+.1%}), p = {one.p:.3g}{star}",
                style="dim",
            )
