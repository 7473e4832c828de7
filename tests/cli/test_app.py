"""The command line as a whole: its help, its version, and how it says what is wrong."""

import os
import subprocess
import sys

import pytest

import dmrank
from tests.cli.running import run


def test_version() -> None:
    assert run("--version").stdout == f"dmrank {dmrank.__version__}\n"


def test_help_answers_at_once_and_names_every_command() -> None:
    times = []
    for _ in range(5):
        started = _seconds_of_children()
        result = run("--help")
        times.append(_seconds_of_children() - started)
    assert all(command in result.stdout for command in ("demo", "stats", "prepare", "fit", "paper"))
    # 0.3 s on an idle machine, nearly all of it the processor's; the suite runs on busy cores.
    assert min(times) < 0.6


def _seconds_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, dmrank.cli.app\n"
        "print([m for m in ('numpy', 'polars', 'numba', 'scipy', 'matplotlib', 'pydantic')"
        " if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["stats", "nowhere.csv"], "does not exist"),
        (["stats", "FILE", "--user", "guest"], "no column 'guest'"),
        (["stats", "FILE", "--aspects", "servise"], "did you mean 'service'?"),
        (["stats", "FILE", "--scale", "1-5"], "--scale '1-5' is not LOW:HIGH"),
        (["stats", "FILE", "--scale", "2:5"], "outside the scale"),
        (["stats", "FILE", "--scale", "1:5", "--scale", "1:4"], "--scale is given twice"),
        (["stats", "https://example.org/r.csv"], "is a URL"),
        (["prepare", "FILE", "--k-core", "5000", "--out", "o.csv"], "leaves no ratings"),
        (["prepare", "FILE", "--out", "o.xlsx"], "cannot tell the format"),
        (
            ["prepare", "FILE", "--split", "--shares", "0.5,0.5", "--out", "o"],
            "--shares '0.5,0.5' are not three numbers",
        ),
        (["prepare", "FILE", "--split", "--shares", "0.9,0.2,0.2", "--out", "o"], "add up to 1"),
        (["prepare", "FILE", "--split", "--by", "time", "--out", "o"], "needs timestamps"),
        (["prepare", "FILE", "--split", "--out", "occupied"], "is a file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(hotels_file, tmp_path, arguments, reason) -> None:
    (tmp_path / "occupied").touch()
    result = run(*(hotels_file if word == "FILE" else word for word in arguments), cwd=tmp_path)
    assert result.returncode == 2
    assert reason in result.stderr.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("dmrank: ")
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["occupied"]
