"""The kinds of attack, and what share of the cases each one gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.attack import (
    calls,
    commands,
    containers,
    csv_files,
    fits,
    jsonl_files,
    lexicons,
    parquet_files,
    storage,
    threads,
)
from tests.attack.case import Kind


class _Entry(NamedTuple):
    make: Kind
    share: float
    title: str
    #: Makes what takes long once for all cases of a process: models that are fitted and compiled.
    prepare: Callable[[], None] = lambda: None


#: What is cheap and what comes from strangers is attacked most.
KINDS: dict[str, _Entry] = {
    "csv": _Entry(csv_files.make, 30, "csv and tsv files, plain and gzipped"),
    "jsonl": _Entry(jsonl_files.make, 16, "jsonl files, plain and gzipped"),
    "parquet": _Entry(parquet_files.make, 14, "parquet files"),
    "containers": _Entry(
        containers.make, 18, "model, index, checkpoint and polarity files", containers.prepare
    ),
    "lexicons": _Entry(lexicons.make, 6, "lexicons"),
    "calls": _Entry(calls.make, 10, "calls with odd values"),
    "fits": _Entry(fits.make, 2, "fits of extreme ratings and parameters"),
    "storage": _Entry(storage.make, 1.5, "work files: trials in SQLite, pieces of a paper"),
    "threads": _Entry(threads.make, 0.5, "one model asked by many threads"),
    "commands": _Entry(commands.make, 2, "commands on files of all these kinds"),
}
