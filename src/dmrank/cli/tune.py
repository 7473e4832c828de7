"""`dmrank tune`: search the parameters of a model."""

from __future__ import annotations

import json
from pathlib import Path

from dmrank.cli.options import ReadOptions
from dmrank.cli.output import console, print_csv, print_json, print_table
from dmrank.cli.parameters import parse_settings, read_config
from dmrank.data.reading.read import join_parts
from dmrank.experiments.tuning import Strategy, Tuning, tune
from dmrank.models import find_model
from dmrank.support.errors import DataError
from dmrank.support.files import atomic_path
from dmrank.support.progress import say


def run(
    columns: ReadOptions,
    model: str,
    train: Path,
    validation: Path,
    trials: int,
    strategy: Strategy,
    metric: str,
    users: int,
    seed: int,
    settings: list[str],
    config: Path | None,
    storage: Path | None,
    out: Path | None,
    format_: str,
) -> None:
    """Print every trial, and write the best parameters as a file that `dmrank fit` reads."""
    fixed = {**read_config(config), **parse_settings(settings)}
    find_model(model)(**fixed)
    if out is not None and out.is_dir():
        raise DataError(f"{out} is a directory: name the toml file to write")
    seen, judged = columns.read(train), columns.read(validation)
    found = tune(
        model,
        join_parts(seen, judged, judged),  # tuning never looks at the third part
        trials=trials,
        strategy=strategy,
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
    lines = [f"# {found.model.__name__}: {found.metric} {found.value:.4f} on validation ratings"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in found.parameters.items()]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _print(found: Tuning, format_: str) -> None:
    if format_ == "json":
        print_json(
            {
                "model": found.model.__name__,
                "parameters": found.parameters,
                found.metric: found.value,
                "trials": found.trials.to_dicts(),
            }
        )
    elif format_ == "csv":
        print_csv(found.trials)
    else:
        best_first = found.trials.sort("value", descending=True)
        title = f"{found.model.__name__}: {found.metric} on validation ratings, the best first"
        print_table(console(), best_first, title)
