"""`dmrank prepare`: read, check, filter and split ratings, and write them as clean files."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.commands import examples
from dmrank.cli.options import RatingsFile, SafeCells
from dmrank.support.errors import ConfigError
from dmrank.support.progress import say
from dmrank.support.targets import check_folder

if TYPE_CHECKING:
    from dmrank.data.ratings import Split


class SplitMethod(StrEnum):
    """How rating vectors are assigned to train, validation and test."""

    RANDOM = "random"
    TIME = "time"
    TIME_PER_USER = "time-per-user"


@examples(
    "dmrank prepare ratings.csv --k-core 5 --out clean.parquet",
    "dmrank prepare ratings.csv --k-core 5 --split --out parts",
)
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
    safe_cells: SafeCells = False,
) -> None:
    """Read, check, filter and split ratings, and write them as clean files."""
    from dmrank.support.files import check_table

    # What is wrong is said before anything is read or written.
    if split:
        parts = _parse_shares(shares)
        if safe_cells:
            raise ConfigError("--split writes parquet files: --safe-cells is for csv and tsv")
        check_folder(out)
    else:
        check_table(out, safe_cells=safe_cells)
    ratings = columns.read(file)
    if k_core:
        ratings = ratings.k_core(k_core)
    if split:
        made = ratings.split(*parts, seed=seed, by=by.value)
        write_split(made, out)
        say(f"wrote train, validation and test to {out}: {made}")
    else:
        ratings.write(out, safe_cells=safe_cells)
        say(f"wrote {out}: {ratings}")


def write_split(split: Split, folder: Path) -> None:
    """Write the three parts; they replace older ones together, after all three are written."""
    from dmrank.support.files import atomic_path

    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    with ExitStack() as stack:
        for name, part in parts.items():
            part.write(stack.enter_context(atomic_path(folder / f"{name}.parquet")))


def _parse_shares(text: str) -> tuple[float, float, float]:
    from dmrank.data.rows import check_shares

    try:
        train, validation, test = (float(share) for share in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--shares {text!r} are not three numbers: write them as 0.7,0.15,0.15"
        ) from None
    check_shares(train, validation, test)
    return train, validation, test
