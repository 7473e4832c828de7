"""`dmrank tune`: search the parameters of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmrank.cli.columns import ReadOptions, reads_ratings
from dmrank.cli.options import OutputFormat
from dmrank.cli.output import console, print_csv, print_json, print_table
from dmrank.cli.parameters import parse_settings, read_config
from dmrank.support.errors import DataError
from dmrank.support.extras import require
from dmrank.support.progress import say

if TYPE_CHECKING:
    from dmrank.experiments.tuning import Tuning


class SearchStrategy(StrEnum):
    """How tuning chooses settings."""

    TPE = "tpe"
    GRID = "grid"
    RANDOM = "random"


@reads_ratings
def tune(
    columns: ReadOptions,
    model: Annotated[str, typer.Argument(help="Which model, such as dmr.", metavar="MODEL")],
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
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the trials.")
    ] = OutputFormat.TABLE,
) -> None:
    """Search the parameters with which a model ranks validation ratings best."""
    from dmrank.data.reading.read import with_common_ids
    from dmrank.experiments.tuning import tune_on
    from dmrank.models import find_model

    # What is wrong with the settings is said before anything is read.
    require("optuna", "tuning")
    fixed = {**read_config(config), **parse_settings(set_)}
    find_model(model)(**fixed)
    if out is not None and out.is_dir():
        raise DataError(f"{out} is a directory: name the toml file to write")
    seen, judged = with_common_ids(columns.read(train), validation=columns.read(validation))
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
    )
    _print(found, format_)
    if out is not None:
        write_parameters(found, out)
        say(f"wrote {out}: use it with dmrank fit --model {model} --config {out}")


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


def _print(found: Tuning, format_: OutputFormat) -> None:
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
        print_csv(found.trials)
    else:
        best_first = found.trials.sort("value", descending=True)
        title = f"{found.model.__name__}: {found.metric} on validation ratings, the best first"
        print_table(console(), best_first, title)
