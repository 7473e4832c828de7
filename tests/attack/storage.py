"""Work files: trials of a search in SQLite, and the pieces that a paper keeps."""

from __future__ import annotations

import json
import random
import sqlite3
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import dmrank
from dmrank.experiments.folder import RunFolder
from tests.attack.case import Case
from tests.attack.damage import damaged
from tests.attack.fixtures import split

_TRIALS = 3
_ODD_STATEMENTS = (
    "DELETE FROM trials", "DELETE FROM trial_values", "DELETE FROM trial_params",
    "DELETE FROM studies",
    "DROP TABLE trials", "DROP TABLE studies", "DROP TABLE version_info",
    "DELETE FROM version_info",
    "UPDATE trial_values SET value = 'x'", "UPDATE trials SET state = 'RUNNING'",
    "DELETE FROM trial_user_attributes",
    "UPDATE trials SET state = 'NOBODY'", "UPDATE trial_params SET distribution_json = '{}'",
    "UPDATE trial_params SET param_value = 1e300",
    "UPDATE trial_user_attributes SET value_json = 'x'",
    "UPDATE version_info SET schema_version = 99",
    "UPDATE study_directions SET direction = 'MINIMIZE'",
    "ALTER TABLE trials RENAME TO others", "UPDATE trials SET number = 0",
    "DELETE FROM trial_params WHERE trial_id = 1",
)  # fmt: skip


def make(rng: random.Random, folder: Path) -> Case:
    """Damage what a run would go on from."""
    return (_make_trials if rng.random() < 0.4 else _make_piece)(rng, folder)


def _make_trials(rng: random.Random, folder: Path) -> Case:
    file = folder / rng.choice(["trials.db", "trials.db", "a?b#c.db", "ä b.db", "%41.db"])
    whole, expected = _trials()
    if rng.random() < 0.5:
        file.write_bytes(whole)
        done = rng.choice(_ODD_STATEMENTS)
        with sqlite3.connect(file) as connection:
            connection.execute(done)
        connection.close()
    elif rng.random() < 0.1:
        done, _ = "a file that is no database", file.write_bytes(rng.randbytes(500))
    else:
        done, data = damaged(rng, whole)
        file.write_bytes(data)

    def wrong(found: str) -> str | None:
        # What was lost is found again; what is another value in the file is what the file says.
        if not file.exists():
            return "the trials went to another file"
        return (
            None
            if found == expected or _stored_otherwise(file)
            else f"found {found}, not {expected}"
        )

    return Case(f"trials in {file.name!r}: {done}", lambda: _tune(file), wrong)


def _tune(file: Path) -> str:
    found = dmrank.tune("ItemMean", split(), trials=_TRIALS, seed=1, storage=file)
    return repr((found.parameters, found.trials.drop("seconds").to_dicts()))


@cache
def _trials() -> tuple[bytes, str]:
    file = Path(mkdtemp(prefix="dmrank-attack-trials-")) / "trials.db"
    found = _tune(file)
    data = file.read_bytes()
    file.unlink()
    file.parent.rmdir()
    return data, found


def _stored_otherwise(file: Path) -> bool:
    """Return whether the values in the file are others than those of the whole one."""
    whole, _ = _trials()
    other = file.with_name("whole.db")
    other.write_bytes(whole)
    return _stored(file) != _stored(other)


def _stored(file: Path) -> object:
    try:
        connection = sqlite3.connect(file)
        rows = [
            connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("trial_values", "trial_params", "trials")
        ]
        connection.close()
        return [[row[:4] for row in table] for table in rows]
    except sqlite3.Error as error:
        return str(error)


def _make_piece(rng: random.Random, folder: Path) -> Case:
    path = folder / "run"
    run = RunFolder(path, {"budget": "quick"})
    table = pl.DataFrame({"model": ["DMR", "EASE"], "value": [0.5, rng.random()]})
    values = {"seed": rng.randrange(99), "metric": 0.25, "name": "x"}
    run.keep_table("table", lambda: table)
    run.keep_values("values", lambda: values)
    run.add_seconds("fitting", 1.5)
    name = rng.choice(
        ["work/table.parquet", "work/values.json", "work/seconds.jsonl", "settings.json"]
    )
    file = path / name
    done, data = damaged(rng, file.read_bytes())
    file.write_bytes(data)

    def go_on() -> tuple[Any, ...]:
        again = RunFolder(path, {"budget": "quick"})
        return (
            again.keep_table("table", lambda: table).to_dicts(),
            again.keep_values("values", lambda: values),
            again.seconds(),
        )

    def wrong(answer: tuple[Any, ...]) -> str | None:
        if answer == (table.to_dicts(), values, 1.5) or _same_as_read(file, answer):
            return None
        return f"another piece than was kept: {answer!r}"

    return Case(f"{name}: {done}", go_on, wrong)


def _same_as_read(file: Path, answer: tuple[Any, ...]) -> bool:
    """Return whether an independent reader has the same in the damaged file."""
    try:
        if file.suffix == ".parquet":
            return bool(pq.read_table(file).to_pylist() == answer[0])
        if file.name == "values.json":
            return bool(json.loads(file.read_bytes()) == answer[1])
        if file.name == "seconds.jsonl":
            return bool(
                sum(json.loads(line)[1] for line in file.read_text().splitlines()) == answer[2]
            )
    except (OSError, ValueError, pa.ArrowException):
        return False
    return False
