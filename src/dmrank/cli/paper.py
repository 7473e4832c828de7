"""`dmrank paper`: every table and figure of the paper, on any ratings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.columns import ReadOptions, reads_ratings, split_list
from dmrank.cli.commands import examples
from dmrank.cli.stopping import stopping
from dmrank.support.progress import say
from dmrank.support.targets import check_folder


@examples(
    "dmrank paper --ratings ratings.csv --out results --budget quick",
    "dmrank paper --ratings ratings.csv --out results --models hurdle,dmr,ease --threads 1",
)
@runs_on_cluster
@reads_ratings
def paper(
    columns: ReadOptions,
    ratings: Annotated[Path, typer.Option(help="Ratings: csv, tsv, jsonl or parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for the report; a cut-off run goes on there.")],
    models: Annotated[
        str | None,
        typer.Option(
            help="Which models, separated by commas; one of your own as module:Class. "
            "Default: all of ours.",
            metavar="A,B,…",
        ),
    ] = None,
    budget: Annotated[str, typer.Option(help="quick, standard or full.")] = "standard",
    seeds: Annotated[
        int | None, typer.Option(help="How often each model is trained; default: by budget.")
    ] = None,
    k_core: Annotated[
        int, typer.Option(help="Keep users and items with at least this many ratings.")
    ] = 5,
    threads: Annotated[int | None, typer.Option(help="Default: every core.")] = None,
) -> None:
    """Make every table and figure of the paper from ratings, with all models."""
    from dmrank.experiments.budgets import find_budget
    from dmrank.experiments.contenders import find_contenders
    from dmrank.experiments.paper import check_packages, run_paper

    # What is wrong with the settings is said before anything is read.
    names = None if models is None else split_list(models)
    if models is not None and ":" in models:
        # A module of the user's own lies where the command is given.
        sys.path.insert(0, str(Path.cwd()))
    find_budget(budget)
    check_packages(find_contenders(names))
    check_folder(out)
    with stopping(f"finished work is in {out}, from where the same command goes on"):
        page = run_paper(
            columns.read(ratings),
            out,
            name=ratings.name.split(".")[0],
            models=names,
            budget=budget,
            seeds=seeds,
            k_core=k_core,
            threads=threads,
        )
    say(f"wrote {page}, and its tables and figures beside it")
