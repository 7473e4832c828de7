"""The commands with their options; what they do is in the file of each command."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import dmrank
from dmrank.cli.options import ReadOptions, reads_ratings

app = typer.Typer(
    name="dmrank",
    help="Rank items by several aspects at once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class OutputFormat(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class SplitMethod(StrEnum):
    """How rating vectors are assigned to train, validation and test."""

    RANDOM = "random"
    TIME = "time"
    TIME_PER_USER = "time-per-user"


RatingsFile = Annotated[
    Path, typer.Argument(help="Ratings: csv, tsv, jsonl (plain or .gz) or parquet.", metavar="FILE")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"dmrank {dmrank.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Rank items by several aspects at once."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the synthetic hotels.")] = 0,
) -> None:
    """Show what dmrank does, on synthetic hotels."""
    from dmrank.cli.demo import run

    run(out, seed)


@app.command()
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
    from dmrank.cli.stats import run

    run(columns.read(file), format_.value, figure)


@app.command()
@reads_ratings
def prepare(
    columns: ReadOptions,
    file: RatingsFile,
    out: Annotated[
        Path, typer.Option(help="File to write (by its ending), or folder with --split.")
    ],
    k_core: Annotated[
        int, typer.Option(help="Keep users and items with at least this many ratings.")
    ] = 0,
    split: Annotated[
        bool, typer.Option("--split", help="Write train, validation and test into a folder.")
    ] = False,
    by: Annotated[
        SplitMethod, typer.Option(help="How --split assigns ratings.")
    ] = SplitMethod.RANDOM,
    shares: Annotated[
        str, typer.Option(help="Shares of train, validation and test.", metavar="T,V,T")
    ] = "0.7,0.15,0.15",
    seed: Annotated[int, typer.Option(help="Seed of the random split.")] = 0,
) -> None:
    """Read, check, filter and split ratings, and write them as clean files."""
    from dmrank.cli.prepare import run

    run(columns, file, out, k_core, shares if split else None, by.value, seed)


@app.command()
@reads_ratings
def fit(
    columns: ReadOptions,
    file: RatingsFile,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    model: Annotated[str, typer.Option(help="Which model, such as dmr.")] = "dmr",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter; repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a toml file.")] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Held-out ratings for early stopping.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save the state in, and to go on from.")
    ] = None,
) -> None:
    """Learn a model from ratings and write it into one file."""
    from dmrank.cli.fit import run

    run(columns, file, validation, model, set_ or [], config, out, checkpoint)


@app.command()
@reads_ratings
def evaluate(
    columns: ReadOptions,
    models: Annotated[list[Path], typer.Argument(help="Model files.", metavar="MODEL…")],
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
) -> None:
    """Judge models on test ratings, ranking by every aspect."""
    from dmrank.cli.evaluate import run

    parts = (train, validation, test)
    run(columns, models, parts, protocol, metric, per_aspect, format_.value)
