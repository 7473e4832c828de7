"""What is left of a command that is killed, stopped, or runs out of disk, and what a rerun makes.

    python -m benchmarks.kill --times 100 --seed 0

Each command is disturbed at a random moment by kill -9, by SIGTERM, or by files that cannot grow
beyond some size (RLIMIT_FSIZE, as portable a full disk as there is). Then:

- what the command writes is not there, or whole: never half;
- a command that ended well has written it, one that did not says so by its exit code, and one that
  found no room says so in one line;
- the same command, run again, ends with the same bytes as a run that nobody disturbed, and beside
  them are the same files: nothing is left over.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import dmrank

DISTURBANCES = ("kill -9", "SIGTERM", "full disk")
TEXTS = (
    "A lovely room, but rude staff.",
    "Clean, not cheap, small bed.",
    "Breakfast was not good.",
)


class Command(NamedTuple):
    """A command line, and the files by which runs are compared; work files are not among them."""

    line: str
    results: str


COMMANDS = {
    "fit": Command(
        "fit {data}/train.parquet --model dmr --validation {data}/validation.parquet "
        "--set iterations=2000 --set evaluate_every=250 --set patience=99 "
        "--checkpoint state --out model.dmrank",
        "model.dmrank",
    ),
    "extract": Command(
        "extract {data}/reviews.jsonl --overall overall --out ratings.parquet", "ratings.parquet"
    ),
    "recommend": Command(
        "recommend {data}/model.dmrank --all-users -n 50 --aspects --out lists.csv", "lists.csv"
    ),
    "tune": Command(
        "tune mbpr --train {data}/train.parquet --validation {data}/validation.parquet --trials 6 "
        "--set iterations=300 --storage trials.db --out best.toml",
        "best.toml",
    ),
    "paper": Command(
        "paper --ratings {data}/few.parquet --models ItemMean,Popularity --budget quick "
        "--k-core 2 --out results",
        "results/tables/*",
    ),
    "prepare": Command(
        "prepare {data}/ratings.csv --k-core 2 --split --out parts", "parts/*.parquet"
    ),
}


class Undisturbed(NamedTuple):
    """What a run leaves that nobody disturbs."""

    digests: dict[str, str]
    files: set[str]
    largest: int
    seconds: float


class Ended(NamedTuple):
    """How a disturbed run ended."""

    code: int
    said: str


def main() -> int:
    options = parse_options()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="dmrank-kill-") as folder:
        data = Path(folder) / "data"
        make_data(data)
        counts: Counter[tuple[str, str, bool]] = Counter()
        expected = {name: run_undisturbed(name, data, Path(folder)) for name in options.commands}
        pairs = [(name, how) for name in options.commands for how in DISTURBANCES]
        for number in range(options.times):
            name, how = pairs[number % len(pairs)]
            fault = disturb(rng, name, how, data, Path(folder) / "run", expected[name])
            counts[name, how, fault is None] += 1
            if fault is not None:
                print(f"{name}, {how}, number {number}: {fault}", file=sys.stderr)
        print(f"{'command':<10} {'disturbed by':<12} {'times':>5} {'same bytes':>10}  faults")
        for name, how in pairs:
            good, bad = counts[name, how, True], counts[name, how, False]
            if good + bad:
                print(f"{name:<10} {how:<12} {good + bad:>5} {good:>10}  {bad}")
    faults = sum(count for (_, _, good), count in counts.items() if not good)
    print(f"{options.times - faults} of {options.times} ended with the same bytes")
    return 1 if faults else 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", nargs="*", choices=list(COMMANDS), default=list(COMMANDS))
    return parser.parse_args()


def make_data(data: Path) -> None:
    made = dmrank.make_ratings(1_000, 200, 15_000, seed=1).ratings
    split = made.split()
    split.train.write(data / "train.parquet")
    split.validation.write(data / "validation.parquet")
    made.write(data / "ratings.csv")
    dmrank.make_ratings(120, 40, 2_000, seed=1).ratings.write(data / "few.parquet")
    dmrank.MBPR(iterations=200, seed=1).fit(made).save(data / "model.dmrank")
    lines = (
        f'{{"user": "u{n % 997}", "item": "i{n % 83}", "overall": {1 + n % 5}, '
        f'"text": "{TEXTS[n % 3]} {TEXTS[n * 7 % 3]} Number {n}."}}\n'
        for n in range(45_000)
    )
    (data / "reviews.jsonl").write_text("".join(lines), encoding="utf-8")


def begin(
    name: str, data: Path, where: Path, before: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    """Begin a command in a folder, which is also where it keeps temporary files."""
    (where.parent / "tmp").mkdir(exist_ok=True)
    arguments = COMMANDS[name].line.format(data=data).split()
    return subprocess.Popen(
        [sys.executable, "-m", "dmrank", *arguments],
        cwd=where,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(where.parent / "tmp")},
        preexec_fn=before,  # noqa: PLW1509 (nothing here has threads)
    )


def run_undisturbed(name: str, data: Path, folder: Path) -> Undisturbed:
    """Run a command twice: compiled code is in its cache when time is taken.

    A result in which two such runs differ says how long they took, and is not compared.
    """
    first, second = (run_once(name, data, folder / "undisturbed") for _ in range(2))
    same = {file: digest for file, digest in second.digests.items()
            if first.digests[file] == digest}  # fmt: skip
    if left_out := sorted(set(second.digests) - set(same)):
        print(f"{name}: {', '.join(left_out)} differ without a disturbance: not compared")
    return second._replace(digests=same)


def run_once(name: str, data: Path, where: Path) -> Undisturbed:
    where.mkdir()
    started = time.monotonic()
    process = begin(name, data, where)
    said = process.communicate()[1]
    seconds = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"{name} fails undisturbed: {said}")
    sizes = [file.stat().st_size for file in where.rglob("*") if file.is_file()]
    found = Undisturbed(digests(name, where), files(where), max(sizes), seconds)
    shutil.rmtree(where)
    return found


def disturb(
    rng: random.Random, name: str, how: str, data: Path, where: Path, expected: Undisturbed
) -> str | None:
    """Disturb a command, run it again, and say what is wrong."""
    where.mkdir()
    try:
        ended = run_disturbed(rng, name, how, data, where, expected)
        if (fault := half_written(name, where, expected, ended, how)) is not None:
            return fault
        again = begin(name, data, where)
        said = again.communicate()[1]
        if again.returncode:
            return f"the rerun ends with {again.returncode}: {said[-200:]!r}"
        found = digests(name, where)
        if other := [
            file for file, digest in expected.digests.items() if found.get(file) != digest
        ]:
            return f"the rerun ends with other bytes: {', '.join(other)}"
        left = files(where) - expected.files
        return f"left over: {sorted(left)}" if left else None
    finally:
        shutil.rmtree(where)


def run_disturbed(
    rng: random.Random, name: str, how: str, data: Path, where: Path, expected: Undisturbed
) -> Ended:
    if how == "full disk":
        room = rng.randrange(expected.largest)
        process = begin(
            name, data, where, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        )
    else:
        process = begin(name, data, where)
        try:
            process.wait(rng.uniform(0.2, 1.0) * expected.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL if how == "kill -9" else signal.SIGTERM)
    said = process.communicate()[1]
    return Ended(process.returncode, said)


def half_written(
    name: str, where: Path, expected: Undisturbed, ended: Ended, how: str
) -> str | None:
    found = digests(name, where)
    for file, digest in expected.digests.items():
        if found.get(file, digest) != digest:
            return f"{file} is there, and not whole (exit {ended.code})"
    if ended.code == 0 and not set(expected.digests) <= set(found):
        return "it ends with 0 and has not written its results"
    if how == "full disk" and ended.code not in (0, 2):
        return f"no room ends with {ended.code}: {ended.said[-300:]!r}"
    return None


#: The table that says how long models took, rounded to seconds: now and then it is another.
_TIMED = "settings"


def digests(name: str, where: Path) -> dict[str, str]:
    """Return what the bytes of the results are."""
    return {
        str(file.relative_to(where)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(where.glob(COMMANDS[name].results))
        if not file.name.startswith(".") and file.stem != _TIMED
    }


def files(where: Path) -> set[str]:
    return {str(file.relative_to(where)) for file in where.rglob("*") if file.is_file()}


if __name__ == "__main__":
    sys.exit(main())
