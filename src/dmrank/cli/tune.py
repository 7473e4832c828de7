"""`dmrank tune`: search the parameters of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.commands import examples
from dmrank.cli.options import MODEL_HELP, OutputFormat, SafeCells, complete_model
from dmrank.cli.output import console, print_csv, print_json, print_table
from dmrank.cli.parameters import parse_settings, read_config
from dmrank.cli.stopping import stopping
from dmrank.support.extras import require
from dmrank.support.progress import say
from dmrank.support.targets import check_target

if TYPE_CHECKING:
    from dmrank.experiments.tuning import Tuning


class SearchStrategy(StrEnum):
    """How tuning chooses settings."""

    TPE = "tpe"
    GRID = "grid"
    RANDOM = "random"


_PARTS = "--train parts/train.parquet --validation parts/validation.parquet"


@examples(
    f"dmrank tune ease {_PARTS} --trials 10 --out ease.toml",
    f"dmrank tune ials {_PARTS} --trials 5 --storage trials.db",
)
@runs_on_cluster
@reads_ratings
def tune(
    columns: ReadOptions,
    model: Annotated[
        str, typer.Argument(help=MODEL_HELP, metavar="MODEL", autocompletion=complete_model)
    ],
    train: Annotated[Path, typer.Option(help="Ratings to learn from.")],
    validation: Annotated[Path, typer.Option(help="Held-out ratings to judge by.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the best parameters here, for fit --config.")
    ] = None,
    trials: Annotated[int, typer.Option(help="How many settings are tried.")] = 30,
    strategy: Annotated[
        SearchStrategy, typer.Option(help="How settings are chosen; grid as in the paper.")
    ] = SearchStrategy.TPE,
    metric: Annotated[str, typer.Option(help="What is maximised.")] = "ndcg@10",
    users: Annotated[int, typer.Option(help="The most users a trial is judged on.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Seed of the search and the models.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A fixed parameter; repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Fixed parameters from a toml file.")] = None,
    storage: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps trials; a cut-off search goes on.")
    ] = None,
    width: Annotated[
        int, typer.Option(help="Settings that are chosen at a time, for --cluster to try at once.")
    ] = 1,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the trials.")
    ] = OutputFormat.TABLE,
    safe_cells: SafeCells = False,
) -> None:
    """Search the parameters with which a model ranks validation ratings best."""
    from dmrank.data.reading.read import with_common_ids
    from dmrank.experiments.tuning import tune_on
    from dmrank.models import find_model

    # What is wrong with the settings is said before anything is read.
    require("optuna", "tuning")
    fixed = {**read_config(config), **parse_settings(set_)}
    find_model(model)(**fixed)
    for target in (out, storage):
        if target is not None:
            check_target(target)
    seen, judged = with_common_ids(columns.read(train), validation=columns.read(validation))
    with stopping(_finished_trials(storage)):
        found = tune_on(
            model,
            seen,
            judged,
            trials=trials,
            strategy=strategy.value,
            parameters=fixed,
            metric=metric,
            users=users,
            seed=seed,
            storage=storage,
            width=width,
        )
    _print(found, format_, safe_cells)
    if out is not None:
        write_parameters(found, out)
        say(f"wrote {out}: use it with dmrank fit --model {model} --config {out}")


def _finished_trials(storage: Path | None) -> str:
    """Say how to go on with a search that was stopped."""
    if storage is None:
        return "no parameters were written; --storage FILE would have kept finished trials"
    return f"finished trials are in {storage}, from where the same command goes on"


def write_parameters(found: Tuning, path: Path) -> None:
    """Write the best parameters as toml, with what they reached."""
    from dmrank.support.files import atomic_path

    lines = [f"# {found.model.__name__}: {found.metric} {found.value:.4f} on validation ratings"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in _flat(found.parameters)]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _flat(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give parameters with those of members as ``ease.regularization``."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", each) for inner, each in _flat(value))
        else:
            yield name, value


def _print(found: Tuning, format_: OutputFormat, safe_cells: bool) -> None:
    if format_ == OutputFormat.JSON:
        print_json(
            {
                "model": found.model.__name__,
                "parameters": found.parameters,
                found.metric: found.value,
                "trials": found.trials.to_dicts(),
            }
        )
    elif format_ == OutputFormat.CSV:
        print_csv(found.trials, safe_cells=safe_cells)
    else:
        best_first = found.trials.sort("value", descending=True)
        title = f"{found.model.__name__}: {found.metric} on validation ratings, the best first"
        print_table(console(), best_first, title)
