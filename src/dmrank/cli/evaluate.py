"""`dmrank evaluate`: judge model files on test ratings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.commands import examples
from dmrank.cli.options import OutputFormat, SafeCells
from dmrank.cli.output import console, make_table, print_csv, print_json
from dmrank.support.progress import say

if TYPE_CHECKING:
    import polars as pl

    from dmrank.evaluation.judged import Judged
    from dmrank.evaluation.report import Report


_PARTS = (
    "--train parts/train.parquet --validation parts/validation.parquet --test parts/test.parquet"
)


@examples(
    f"dmrank evaluate ease.dmrank {_PARTS}",
    f"dmrank evaluate ease.dmrank {_PARTS} --per-aspect --metric recall@20",
)
@runs_on_cluster
@reads_ratings
def evaluate(
    columns: ReadOptions,
    models: Annotated[
        list[Path],
        typer.Argument(
            help="Model files, or other systems' lists: a table with user, item and rank or score.",
            metavar="MODEL…",
        ),
    ],
    train: Annotated[Path, typer.Option(help="The ratings that the models were fitted on.")],
    validation: Annotated[Path, typer.Option(help="Held-out ratings that are no candidates.")],
    test: Annotated[Path, typer.Option(help="The ratings to judge by.")],
    protocol: Annotated[str, typer.Option(help="full, or sampled(100).")] = "full",
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Such as ndcg@10, ap, recall@20; repeat for more."),
    ] = None,
    per_aspect: Annotated[
        bool, typer.Option("--per-aspect", help="One row per model, aspect and metric.")
    ] = False,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the result.")
    ] = OutputFormat.TABLE,
    safe_cells: SafeCells = False,
) -> None:
    """Judge models on test ratings, ranking by every aspect."""
    from dmrank.data.reading.read import join_parts
    from dmrank.evaluation import judge

    opened = _open_by_name(models)
    split = join_parts(*(columns.read(part) for part in (train, validation, test)))
    metrics = metric or judge.DEFAULT_METRICS
    report = judge.evaluate(opened, split, protocol=protocol, metrics=metrics)
    table = report.by_aspect() if per_aspect else report.table()
    if format_ == OutputFormat.JSON:
        print_json(table.to_dicts())
    elif format_ == OutputFormat.CSV:
        print_csv(table, safe_cells=safe_cells)
    else:
        _print(report, table, per_aspect)
    if report.left_out:
        say(f"{report.left_out:,} test rows of users or items without a training row were left out")


def _open_by_name(paths: list[Path]) -> dict[str, Judged]:
    """Open models and lists; names are those of the files, with the folder where it is needed."""
    from dmrank.evaluation.adapters.lists import adapt_lists
    from dmrank.models import load
    from dmrank.support.files import is_table

    stems = Counter(path.stem for path in paths)
    return {
        path.stem if stems[path.stem] == 1 else str(path): (
            adapt_lists(path) if is_table(path) else load(path)
        )
        for path in paths
    }


def _print(report: Report, table: pl.DataFrame, per_aspect: bool) -> None:
    """Print how well models rank; stars say what is significantly below the best."""
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
