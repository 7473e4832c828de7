"""Options that several commands share, so that they are the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

RatingsFile = Annotated[
    Path, typer.Argument(help="Ratings: csv, tsv, jsonl (plain or .gz) or parquet.", metavar="FILE")
]
ModelFile = Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")]

#: Names of `dmrank.models.MODELS`, which would take half a second to import.
MODEL_NAMES = (
    "hurdle", "blend", "mixedeffects", "dmr", "ials", "ease", "cooccurrence", "mbpr", "mter", "efm",
    "ptf", "spsmtl", "exsae", "neuraldmr", "itemmean", "popularity",
)  # fmt: skip
MODEL_HELP = f"One of {', '.join(MODEL_NAMES)}."


def complete_model(incomplete: str) -> list[str]:
    """Return the models whose names begin as given, for the shell.

    Examples
    --------
    >>> complete_model("it")
    ['itemmean']
    """
    return [name for name in MODEL_NAMES if name.startswith(incomplete)]


ModelName = Annotated[
    str,
    typer.Option(
        help=f"Which model to learn. {MODEL_HELP}", metavar="MODEL", autocompletion=complete_model
    ),
]

ReviewsFile = Annotated[
    Path, typer.Argument(help="Reviews: csv, tsv, jsonl (plain or .gz) or parquet.", metavar="FILE")
]
TextColumn = Annotated[str, typer.Option(help="Column with the review.")]
TitleColumn = Annotated[
    str | None, typer.Option(help="Column with a title; default: title if there is one.")
]
OverallColumn = Annotated[
    str | None, typer.Option(help="Column with an overall rating, to learn opinions from.")
]
OverallScale = Annotated[
    list[str] | None, typer.Option(help="Scale of the ratings; default: 1:5.", metavar="LOW:HIGH")
]


ByOption = Annotated[
    list[str] | None,
    typer.Option(
        help="What to rank by: an aspect, or ASPECT=WEIGHT; repeat for a mix. 'all' respects all "
        "aspects together. Default: the primary aspect.",
        metavar="ASPECT[=WEIGHT]",
    ),
]

ListsOut = Annotated[
    str | None,
    typer.Option(
        help="Write the lists here: a file by its ending, or, with a / at the end, a folder of "
        "parts; a killed run goes on with its parts.",
        metavar="FILE",
    ),
]

SafeCells = Annotated[
    bool,
    typer.Option(
        "--safe-cells",
        help="For spreadsheets: an apostrophe before csv cells that begin like a formula.",
    ),
]


class OutputFormat(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
