"""Commands on hostile files: exit 0 with the right file, or exit 2 with one line and no file."""

from __future__ import annotations

import random
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow.parquet as pq

from dmrank import DataError
from dmrank.cli import main
from tests.attack import containers, csv_files, jsonl_files, lexicons
from tests.attack.case import Case
from tests.attack.fixtures import model


class Ran(NamedTuple):
    """What a command left."""

    code: int
    out: str
    said: str


def run(*arguments: object) -> Ran:
    """Run a command within this process; what it refuses is raised in its own words."""
    said, code = StringIO(), 0
    # A file, because a command may want to know where its output goes.
    with TemporaryFile("w+", encoding="utf-8") as out:
        with (
            patch.object(sys, "argv", ["dmrank", *map(str, arguments)]),
            redirect_stdout(out),
            redirect_stderr(said),
        ):
            try:
                main()
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(error.code is not None)
        out.seek(0)
        printed = out.read()
    if code == 2:
        lines = said.getvalue().splitlines()
        message = lines[-1] if lines and lines[-1].startswith("dmrank: ") else said.getvalue()
        raise DataError(message)
    return Ran(code, printed, said.getvalue())


def make(rng: random.Random, folder: Path) -> Case:
    """Make a file of another kind, and give it to a command."""
    return rng.choice([_prepare, _prepare, _stats, _recommend, _extract, _fit])(rng, folder)


def _ratings_file(rng: random.Random, folder: Path) -> tuple[Path, str]:
    kind = rng.choice([csv_files, jsonl_files])
    case = kind.make(rng, folder)
    (file,) = folder.iterdir()
    return file, case.what


def _prepare(rng: random.Random, folder: Path) -> Case:
    file, what = _ratings_file(rng, folder)
    out = folder / "out" / "clean.parquet"

    def attempt() -> Ran:
        try:
            return run("prepare", file, "--out", out)
        except DataError:
            if out.parent.exists() and any(out.parent.iterdir()):
                raise RuntimeError("a refused command left a file") from None
            raise

    def wrong(ran: Ran) -> str | None:
        if (fault := _not_plain(ran)) is not None:
            return fault
        pairs = pq.read_table(out).num_rows
        data = file.read_bytes()
        name = file.name.removeprefix("ratings")
        found = jsonl_files.readings(data) if ".jsonl" in name else csv_files.readings(data, name)
        counts = [len({*zip(each.users, each.items, strict=True)}) for each in found]
        return None if pairs in counts else f"{pairs:,} rows were written, and {counts} are there"

    return Case(f"prepare {what}", attempt, wrong)


def _stats(rng: random.Random, folder: Path) -> Case:
    file, what = _ratings_file(rng, folder)
    return Case(f"stats {what}", lambda: run("stats", file), _not_plain)


def _fit(rng: random.Random, folder: Path) -> Case:
    file, what = _ratings_file(rng, folder)
    name = rng.choice(["itemmean", "popularity", "ials"])
    odd = rng.choice(
        ["seed=-1", "seed=1", "x=1", "seed=", "=", "seed=nan", "threads=0", "seed=1e400"]
    )
    out = rng.choice(
        [folder / "m.dmrank", folder, file / "m.dmrank", Path("/proc/nowhere/m.dmrank")]
    )
    arguments = ["fit", file, "--model", name, "--set", odd, "--out", out]
    return Case(
        f"fit {name} --set {odd} --out {out.name!r}, {what}", lambda: run(*arguments), _not_plain
    )


def _recommend(rng: random.Random, folder: Path) -> Case:
    file = model(rng.choice(["ItemMean", "MBPR"])).save(folder / "m.dmrank")
    done = "whole"
    if rng.random() < 0.5:
        case = containers.make(rng, folder)
        file, done = folder / "file.dmrank", case.what
    user = rng.choice(["u000007", "nobody", "", "\x1b[31m", "--all-users"])
    options = rng.choice([[], ["-n", "-1"], ["-n", "99999999999999999999"], ["--by", "value=nan"],
                          ["--by", "x"], ["--on-unknown", "popular"], ["--format", "json"],
                          ["--preference", "nan"], ["--out", folder], ["--out", "/proc/x.csv"],
                          ["--allow", file], ["--by", "=="]])  # fmt: skip
    asked = [user] if user.startswith("--") else ["--user", user]
    return Case(
        f"recommend {user!r} {[str(option)[-20:] for option in options]}, {done}",
        lambda: run("recommend", file, *asked, *options),
        _not_plain,
    )


def _extract(rng: random.Random, folder: Path) -> Case:
    case = lexicons.make(rng, folder)
    reviews = folder / "reviews.csv"
    reviews.write_text(
        "user,item,text\na,x,A lovely room.\nb,y,Rude \x1b[31mstaff.\n", encoding="utf-8"
    )
    out = rng.choice([folder / "r.parquet", folder / "r.csv", folder / "r.xyz", folder])
    show: list[Any] = rng.choice([[], ["--show", 2]])
    return Case(
        f"extract --out {out.suffix} {show}, lexicon {case.what}",
        lambda: run("extract", reviews, "--aspects", folder / "mine.toml", "--out", out, *show),
        _not_plain,
    )


def _not_plain(ran: Ran) -> str | None:
    if ran.code != 0:
        return f"exit {ran.code}: {ran.said[-150:]!r}"
    control = {c for c in ran.out + ran.said if not c.isprintable() and c not in "\n\t"}
    return f"control characters {control!r} on the terminal" if control else None
