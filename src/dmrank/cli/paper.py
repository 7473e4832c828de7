"""`dmrank paper`: every table and figure of the paper, on any ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.columns import ReadOptions, reads_ratings, split_list
from dmrank.support.progress import say


@reads_ratings
def paper(
    columns: ReadOptions,
    ratings: Annotated[Path, typer.Option(help="Ratings: csv, tsv, jsonl or parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for the report; a cut-off run goes on there.")],
    models: Annotated[
        str | None,
        typer.Option(help="Which models, separated by commas; default: all.", metavar="A,B,…"),
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
    find_budget(budget)
    check_packages(find_contenders(names))
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
