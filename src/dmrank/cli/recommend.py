"""`dmrank recommend`: rank items for users with a model file."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dmrank.answers.by_text import parse_by
from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.commands import examples
from dmrank.cli.options import (
    ByOption,
    ListsOut,
    ModelFile,
    OutputFormat,
    SafeCells,
)
from dmrank.cli.output import console, print_csv, print_json, print_table
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.progress import say

if TYPE_CHECKING:
    import polars as pl

    from dmrank.data.ids import Id
    from dmrank.models import Model

#: The most users whose lists are printed at once; csv is printed in blocks of as many.
_MOST_PRINTED = 1_000


class UnknownUsers(StrEnum):
    """What becomes of users that the model does not know."""

    RAISE = "raise"
    POPULAR = "popular"


@examples(
    "dmrank recommend model.dmrank --user u000012 --by service --by value=2",
    "dmrank recommend model.dmrank --all-users --format csv | head",
)
@runs_on_cluster
def recommend(
    model: ModelFile,
    user: Annotated[
        list[str] | None, typer.Option(help="A user; repeat for more.", metavar="ID")
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(help="Users: one per line of a .txt, or the column user of a table."),
    ] = None,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Everybody that the model knows.")
    ] = False,
    by: ByOption = None,
    n: Annotated[int, typer.Option("-n", help="Length of each list.")] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also list what the user rated in training.")
    ] = False,
    allow: Annotated[
        Path | None, typer.Option(help="List only these items: a .txt, or a column item.")
    ] = None,
    block: Annotated[
        Path | None, typer.Option(help="List none of these items: a .txt, or a column item.")
    ] = None,
    aspects: Annotated[
        bool, typer.Option("--aspects", help="Also show the predicted rating on every aspect.")
    ] = False,
    preference: Annotated[
        float | None,
        typer.Option(
            help="Of a Hurdle: from 0, who comes to an item, to 1, how it will be liked. "
            "Default: what held-out lists bear.",
            metavar="SHARE",
        ),
    ] = None,
    on_unknown: Annotated[
        UnknownUsers, typer.Option(help="Users without a training rating: an error, or popularity.")
    ] = UnknownUsers.RAISE,
    out: ListsOut = None,
    format_: Annotated[
        OutputFormat,
        typer.Option("--format", help="How to print the lists; csv: of any number."),
    ] = OutputFormat.TABLE,
    safe_cells: SafeCells = False,
) -> None:
    """Rank items for users, by an aspect or a mix of aspects."""
    from dmrank.cli.list_file import check_lists, write_lists
    from dmrank.models import load

    # What is wrong is said before anything is ranked.
    if out is not None:
        check_lists(out, safe_cells=safe_cells)
    ranker = load(model)
    asked = _asked_users(ranker, user or [], users, all_users)
    options: dict[str, Any] = {
        "by": parse_by(by),
        "exclude_seen": not include_seen,
        "allow": None if allow is None else read_ids(allow, "item"),
        "block": None if block is None else read_ids(block, "item"),
        "aspects": aspects,
        "on_unknown": on_unknown.value,
        "preference": preference,
    }
    if out is not None:
        rows = write_lists(ranker, model, asked, n, options, out, safe_cells=safe_cells)
        say(f"wrote {out}: {rows:,} rows for {len(asked):,} users")
        return
    if format_ == OutputFormat.CSV:
        lists = ranker.recommend_blocks(asked, n, users_per_block=_MOST_PRINTED, **options)
        for position, block_ in enumerate(lists):
            print_csv(block_, safe_cells=safe_cells, header=position == 0)
        return
    if len(asked) > _MOST_PRINTED:
        raise ConfigError(
            f"{len(asked):,} lists are too many for --format {format_.value}: print them with "
            "--format csv, or name a file with --out"
        )
    _print(ranker.recommend(asked, n, **options), by or [], format_)


def _asked_users(
    model: Model, named: list[str], file: Path | None, everybody: bool
) -> Sequence[Id]:
    """Return whose lists are wanted: users by name, those of a file, or all, each once."""
    if sum([bool(named), file is not None, everybody]) != 1:
        raise ConfigError("name users by one of --user, --users FILE and --all-users")
    if everybody:
        return rating_users(model)
    return named if file is None else read_ids(file, "user")


def rating_users(model: Model) -> list[str]:
    """Return the users that the model has training ratings of."""
    import polars as pl

    pointer, users = model.catalogue.seen_pointer, model.catalogue.users.series
    return users.filter(pl.Series(pointer[1:] > pointer[:-1])).to_list()


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
    from dmrank.data.reading.opening import open_table

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


def _print(lists: pl.DataFrame, by: list[str], format_: OutputFormat) -> None:
    if format_ == OutputFormat.JSON:
        print_json(lists.to_dicts())
    else:
        screen = console()
        what = f", by {', '.join(by)}" if by else ""
        for (user,), rows in lists.group_by("user", maintain_order=True):
            print_table(screen, rows.drop("user"), f"{user}{what}")
        if lists.is_empty():
            screen.print("The filters leave no item to list.")
