"""`dmrank prepare`: read, check, filter and split ratings, and write them as clean files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from dmrank.cli.options import ReadOptions
from dmrank.data.ratings import Ratings, Split
from dmrank.data.rows import SplitBy, check_shares
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.files import atomic_path, table_format
from dmrank.support.progress import say


def run(
    columns: ReadOptions,
    file: Path,
    out: Path,
    k_core: int,
    shares: str | None,
    by: SplitBy,
    seed: int,
) -> None:
    """Write one file, or three with a split; what is wrong is said before anything is written."""
    if shares is None:
        table_format(out)
    else:
        parts = _parse_shares(shares)
        if out.is_file():
            raise DataError(f"{out} is a file: --split writes into a folder")
    ratings = columns.read(file)
    if k_core:
        ratings = ratings.k_core(k_core)
    if shares is None:
        ratings.write(out)
        say(f"wrote {out}: {ratings}")
    else:
        split = ratings.split(*parts, seed=seed, by=by)
        write_split(split, out)
        say(f"wrote train, validation and test to {out}: {split}")


def write_split(split: Split, folder: Path) -> None:
    """Write the three parts; they replace older ones together, after all three are written."""
    parts: dict[str, Ratings] = {
        "train": split.train,
        "validation": split.validation,
        "test": split.test,
    }
    with ExitStack() as stack:
        for name, part in parts.items():
            part.write(stack.enter_context(atomic_path(folder / f"{name}.parquet")))


def _parse_shares(text: str) -> tuple[float, float, float]:
    try:
        train, validation, test = (float(share) for share in text.split(","))
    except ValueError:
        raise ConfigError(
            f"shares {text!r} are not three numbers: write them as 0.7,0.15,0.15"
        ) from None
    check_shares(train, validation, test)
    return train, validation, test
