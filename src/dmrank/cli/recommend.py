"""`dmrank recommend`: rank items for users with a model file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from dmrank.answers.filters import OnUnknown, known_users
from dmrank.answers.recommend import RecommendOptions
from dmrank.cli.output import console, print_csv, print_json, print_table
from dmrank.data.reading.tables import open_table
from dmrank.fitted.contract import By
from dmrank.models import Model, load
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.files import table_format, write_table
from dmrank.support.progress import bar, say

#: The most users whose lists are printed; more go to a file.
_MOST_PRINTED = 1_000
_USERS_AT_ONCE = 16_384


@dataclass(frozen=True)
class Who:
    """Whose lists are wanted: some users by name, those of a file, or all."""

    named: list[str]
    file: Path | None
    everybody: bool

    def of(self, model: Model) -> list[str]:
        """Return their ids, each once."""
        if sum([bool(self.named), self.file is not None, self.everybody]) != 1:
            raise ConfigError("name users by one of --user, --users FILE and --all-users")
        if self.everybody:
            pointer, users = model.catalogue.seen_pointer, model.catalogue.users.series
            return users.filter(pl.Series(pointer[1:] > pointer[:-1])).to_list()
        return self.named if self.file is None else read_ids(self.file, "user")


def run(
    path: Path,
    who: Who,
    by: list[str],
    n: int,
    include_seen: bool,
    allow: Path | None,
    block: Path | None,
    aspects: bool,
    on_unknown: OnUnknown,
    out: Path | None,
    format_: str,
) -> None:
    """Print lists, or write them into a file; what is wrong is said before anything is ranked."""
    if out is not None:
        table_format(out)
    model = load(path)
    users = who.of(model)
    known_users(model.catalogue, users, on_unknown)
    options: RecommendOptions = {
        "by": parse_by(by),
        "exclude_seen": not include_seen,
        "allow": None if allow is None else read_ids(allow, "item"),
        "block": None if block is None else read_ids(block, "item"),
        "aspects": aspects,
        "on_unknown": on_unknown,
    }
    if out is not None:
        rows = write_lists(model, users, n, options, out)
        say(f"wrote {out}: {rows:,} rows for {len(users):,} users")
        return
    if len(users) > _MOST_PRINTED:
        raise ConfigError(f"{len(users):,} lists are too many to print: name a file with --out")
    _print(model.recommend(users, n, **options), by, format_)


def parse_by(given: list[str]) -> By:
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


def read_ids(file: Path, kind: Literal["user", "item"]) -> list[str]:
    r"""Read ids, each once: one per line of a .txt file, or the column `user` or `item` of a table.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "some.txt"
    >>> _ = file.write_text("ann\nbob\n\nann\n")
    >>> read_ids(file, "user")
    ['ann', 'bob']
    """
    if file.suffix == ".txt":
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{file} cannot be read: {error}") from None
        ids = [line.strip() for line in lines if line.strip()]
    else:
        table = open_table(file)
        table.require(kind, kind)
        ids = [name for batch in table.batches(text=[kind], numbers=[]) for name in batch[kind]]
    if not ids:
        raise DataError(f"{file} names no {kind}: give one per line, or a column {kind!r}")
    return list(dict.fromkeys(ids))


def write_lists(
    model: Model, users: list[str], n: int, options: RecommendOptions, out: Path
) -> int:
    """Write the lists of many users, whole or not at all, and return the number of rows.

    They pass through in blocks, so that memory does not grow with the number of users.
    """
    schema = model.recommend([], n, **options).schema
    stream = _Stream(model, users, n, options)
    try:
        write_table(pl.io.plugins.register_io_source(stream.batches, schema=dict(schema)), out)
    except pl.exceptions.PolarsError as error:
        # What a block has raised, Polars reports as an error of its own.
        raise stream.failure or error from None
    return stream.rows


class _Stream:
    """Lists of users, block by block, with a progress bar."""

    def __init__(self, model: Model, users: list[str], n: int, options: RecommendOptions) -> None:
        self.model, self.users, self.n, self.options = model, users, n, options
        self.rows = 0
        self.failure: Exception | None = None

    def batches(self, columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        """Rank, as Polars asks for the next block."""
        lists = self.model.recommend_blocks(
            self.users, self.n, users_per_block=_USERS_AT_ONCE, **self.options
        )
        try:
            with bar("ranking", total=len(self.users)) as progress:
                for done, block in enumerate(lists, start=1):
                    self.rows += len(block)
                    progress.update(min(done * _USERS_AT_ONCE, len(self.users)))
                    yield block if columns is None else block.select(columns)
        except Exception as error:
            self.failure = error
            raise


def _print(lists: pl.DataFrame, by: list[str], format_: str) -> None:
    if format_ == "json":
        print_json(lists.to_dicts())
    elif format_ == "csv":
        print_csv(lists)
    else:
        screen = console()
        what = f", by {', '.join(by)}" if by else ""
        for (user,), rows in lists.group_by("user", maintain_order=True):
            print_table(screen, rows.drop("user"), f"{user}{what}")
        if lists.is_empty():
            screen.print("The filters leave no item to list.")
