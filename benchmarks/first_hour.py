"""The first hour of a new user: the wheel in an empty environment, up to the first list.

    python -m benchmarks.first_hour [--python PYTHON …] [--wheel FILE] [--record]

For each interpreter the wheel is installed into an environment of its own, with the versions of
constraints.txt; with this one also with extras, with the lowest versions, and where nothing can be
written. A first list is what a new process takes to import dmrank, make ratings, fit a Hurdle and
recommend: cold when nothing is compiled yet, warm afterwards. Installing includes downloads, unless
pip has them in its cache. As root, the read-only rows run as the user nobody.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import add_record_option, as_called, write_record

ROOT = Path(__file__).parents[1]
NEWEST, LOWEST = ROOT / "constraints.txt", ROOT / "constraints-lowest.txt"
EXTRAS = "plots,text,tune"
FIRST_LIST = """
import dmrank
ratings = dmrank.make_hotels().ratings
split = ratings.k_core(5).split(seed=0)
model = dmrank.Hurdle(seed=0).fit(split.train, validation=split.validation)
assert len(model.recommend("u000012", n=5, by="service")) == 5
"""
HEADER = (
    "environment",
    "packages",
    "MB",
    "install, s",
    "import, s",
    "first list: cold, s",
    "warm, s",
)
NOBODY = 65_534
Row = tuple[str, ...]


class Environment(NamedTuple):
    """A virtual environment, and what it took to make it."""

    folder: Path
    seconds: float

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters")
    parser.add_argument("--wheel", type=Path, help="by default it is built")
    add_record_option(parser)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        home = Path(folder)
        home.chmod(0o755)  # nobody walks through it
        wheel = chosen.wheel or build(chosen.python[0], home)
        print(f"The wheel has {megabytes(wheel):.1f} MB.\n")
        show(HEADER)
        rows = []
        for row in trials(chosen.python, wheel, home):
            show(row)
            rows.append(dict(zip(HEADER, row, strict=True)))
    if chosen.record:
        write_record("first-hour", as_called("first_hour"), rows)


def trials(pythons: list[str], wheel: Path, home: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    for python in pythons:
        yield trial(home / Path(python).name, python, wheel, f"Python {version(python)}")
    first, name = pythons[0], f"Python {version(pythons[0])}"
    yield trial(home / "extras", first, wheel, f"{name}, {EXTRAS}", extras=f"[{EXTRAS}]")
    yield trial(home / "lowest", first, wheel, f"{name}, lowest versions", versions=LOWEST)
    yield from read_only(home / "read-only", first, wheel, name)


def show(cells: Row) -> None:
    print("|", " | ".join(cells), "|", flush=True)


def build(python: str, folder: Path) -> Path:
    pip = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(pip, check=True)
    return next(folder.glob("*.whl"))


def version(python: str) -> str:
    code = "import platform; print(platform.python_version())"
    asked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def install(
    folder: Path, python: str, wheel: Path, extras: str = "", versions: Path = NEWEST
) -> Environment:
    subprocess.run([python, "-m", "venv", folder], check=True)
    made = Environment(folder, 0.0)
    started = time.perf_counter()
    pip = [made.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--constraint", versions, f"{wheel}{extras}"], check=True)
    return made._replace(seconds=time.perf_counter() - started)


def trial(folder: Path, python: str, wheel: Path, name: str, **options: Any) -> Row:
    """Return a row of the table: an environment, cold and warm."""
    made = install(folder, python, wheel, **options)
    size, count = megabytes(made.packages), len(list(made.packages.glob("*.dist-info")))
    # Python's own files are compiled by the first import.
    imported = min(seconds(made, "import dmrank") for _ in range(3))
    cold, warm = (seconds(made, FIRST_LIST) for _ in range(2))
    numbers = (f"{size:,.0f}", f"{made.seconds:.0f}", f"{imported:.2f}")
    return name, str(count), *numbers, f"{cold:.0f}", f"{warm:.1f}"


def read_only(folder: Path, python: str, wheel: Path, name: str) -> Iterator[Row]:
    """Yield two rows of a read-only installation: with a temporary folder, and without."""
    made = install(folder, python, wheel)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    temporary = folder.parent / "temporary"
    temporary.mkdir()
    as_nobody: dict[str, Any] = {}
    if os.getuid() == 0:
        os.chown(temporary, NOBODY, NOBODY)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    bare = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    for place, said in ((temporary, "only a temporary folder"), (Path("/nowhere"), "nothing")):
        # Not by TMPDIR: Python would look for another folder where that one cannot be written.
        code = f"import tempfile\ntempfile.tempdir = {str(place)!r}\n{FIRST_LIST}"
        row = f"{name}, read-only, no home, {said} can be written"
        try:
            cold, warm = (seconds(made, code, env=bare, cwd="/", **as_nobody) for _ in range(2))
        except PermissionError:
            yield row, "nobody may not run this interpreter", *["–"] * (len(HEADER) - 2)
        else:
            yield row, *["–"] * 4, f"{cold:.0f}", f"{warm:.1f}"


def seconds(made: Environment, code: str, **options: Any) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        [made.python, "-c", code], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        sys.exit(f"{made.folder.name}: {done.stderr}")
    return time.perf_counter() - started


def megabytes(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


if __name__ == "__main__":
    main()
