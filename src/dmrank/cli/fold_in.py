"""`dmrank fold-in`: lists for users that a model file does not know, given their ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dmrank.answers.by_text import parse_by
from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.commands import examples
from dmrank.cli.options import ByOption, ModelFile, RatingsFile, SafeCells
from dmrank.cli.stopping import stopping
from dmrank.support.progress import say

#: Users that are folded in together: a second or a few of work.
_USERS_AT_ONCE = 1_024


@examples(
    "dmrank fold-in model.dmrank ratings.csv --out lists.parquet",
    "dmrank fold-in model.dmrank ratings.csv --by service -n 20 --out lists/",
)
@runs_on_cluster
@reads_ratings
def fold_in(
    columns: ReadOptions,
    model: ModelFile,
    file: RatingsFile,
    out: Annotated[
        str,
        typer.Option(
            help="Write the lists here: a file by its ending, or, with a / at the end, a folder "
            "of parts.",
            metavar="FILE",
        ),
    ],
    by: ByOption = None,
    n: Annotated[int, typer.Option("-n", help="Length of each list.")] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also list what the user has rated.")
    ] = False,
    safe_cells: SafeCells = False,
) -> None:
    """Fold users with new ratings into a model, and write a list for each; a killed run goes on."""
    from dmrank.cli.list_file import check_lists, is_folder
    from dmrank.distributed.lists import write_folded_in_parts
    from dmrank.distributed.parts import PartSettings
    from dmrank.models.opened import ModelFile as FileOfModel

    # What is wrong is said before anything is ranked.
    check_lists(out, safe_cells=safe_cells)
    source = FileOfModel.at(model)
    ratings = columns.read(file)
    options: dict[str, Any] = {"by": parse_by(by), "exclude_seen": not include_seen}
    settings = PartSettings(Path(out), not is_folder(out), _USERS_AT_ONCE, safe_cells)
    with stopping(f"what is done is in {settings.folder}, from where the same command goes on"):
        rows = write_folded_in_parts(source, ratings, n, options, settings)
    say(f"wrote {out}: {rows:,} rows for {len(ratings.users):,} users")
