"""`dmrank paper`: every table and figure of the paper, on any ratings."""

from __future__ import annotations

from pathlib import Path

from dmrank.cli.options import ReadOptions
from dmrank.experiments import run_paper
from dmrank.experiments.budgets import find_budget
from dmrank.experiments.contenders import find_contenders
from dmrank.support.progress import say


def run(
    columns: ReadOptions,
    ratings: Path,
    out: Path,
    models: list[str] | None,
    budget: str,
    seeds: int | None,
    k_core: int,
    threads: int | None,
) -> None:
    """Run the experiments; what is wrong with the settings is said before anything is read."""
    find_budget(budget)
    find_contenders(models)
    page = run_paper(
        columns.read(ratings),
        out,
        name=ratings.name.split(".")[0],
        models=models,
        budget=budget,
        seeds=seeds,
        k_core=k_core,
        threads=threads,
    )
    say(f"wrote {page}, and its tables and figures beside it")
