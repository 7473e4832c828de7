"""Options that several commands share, so that they are the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from dmrank.fitted.contract import By

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


def parse_by(given: list[str] | None) -> By:
    """Parse `service`, `value=2`, or several of them; nothing means the primary aspect.

    Examples
    --------
    >>> parse_by(["service", "value=2"]), parse_by(["all"]), parse_by([])
    ({'service': 1.0, 'value': 2.0}, 'all', None)
    """
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    mix: dict[str, float] = {}
    for text in given:
        name, _, weight = text.rpartition("=") if "=" in text else (text, "", "1")
        if name in mix:
            raise ConfigError(f"--by names {name!r} twice: give each aspect once")
        try:
            mix[name] = float(weight)
        except ValueError:
            raise ConfigError(f"--by {text!r} is not ASPECT or ASPECT=WEIGHT") from None
    return mix
