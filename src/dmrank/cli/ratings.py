"""`dmrank ratings`: what people have rated while a model was served."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.commands import CommandGroup, add_command, examples
from dmrank.support.errors import DataError
from dmrank.support.progress import say

ratings = typer.Typer(cls=CommandGroup, no_args_is_help=True)
_EXAMPLES = (
    "dmrank ratings export hotels.ratings.sqlite --out new.parquet",
    "dmrank ratings export postgresql://db/hotels --out new.csv",
)


@ratings.callback()
@examples(*_EXAMPLES)
def options() -> None:
    """Ratings that `dmrank serve` has kept."""


@examples(*_EXAMPLES)
def export(
    store: Annotated[str, typer.Argument(help="Where ratings are kept: a file, or postgresql://…")],
    out: Annotated[Path, typer.Option(help="Table to write, by its ending: user, item, aspects.")],
) -> None:
    """Write kept ratings as a table that `dmrank fit` reads."""
    import polars as pl

    from dmrank.service.store.opening import is_file, open_store
    from dmrank.support.files import check_table, write_table

    check_table(out)
    if is_file(store) and not Path(store).exists():
        raise DataError(f"{store} does not exist: give the store of a service")
    with closing(open_store(store)) as opened:
        kept = list(opened.every())
    if not kept:
        raise DataError(f"{store} has no ratings: nothing is written")
    aspects = sorted({name for each in kept for name in each.ratings})
    rows = [
        {"user": each.user, "item": each.item, "timestamp": int(each.time), **each.ratings}
        for each in kept
    ]
    numbers = dict.fromkeys(aspects, pl.Float64)
    schema = {"user": pl.String, "item": pl.String, **numbers, "timestamp": pl.Int64}
    write_table(pl.DataFrame(rows, schema=schema), out)
    say(f"wrote {len(kept):,} ratings of {len({each.user for each in kept}):,} users to {out}")


add_command(ratings, export)
