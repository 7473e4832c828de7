"""The commands, run as a person runs them."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import dmrank
from dmrank import Ratings, read_split
from tests.cli.running import run


@pytest.fixture(scope="module")
def file(tmp_path_factory, hotels: Ratings) -> Path:
    return hotels.write(tmp_path_factory.mktemp("cli") / "hotels.csv")


def test_version() -> None:
    assert run("--version").stdout == f"dmrank {dmrank.__version__}\n"


def test_help_answers_at_once_and_names_every_command() -> None:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        result = run("--help")
        times.append(time.perf_counter() - started)
    assert all(command in result.stdout for command in ("demo", "stats", "prepare", "fit", "paper"))
    # 0.3 s on an idle machine; the suite runs on busy cores.
    assert min(times) < 0.6


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


def test_stats_as_a_table(file: Path) -> None:
    result = run("stats", file)
    assert result.returncode == 0
    assert "2,000" in result.stdout
    assert "sleep_quality" in result.stdout
    assert "aspects overall, sleep_quality" in result.stderr
    assert "\x1b" not in result.stdout


def test_stats_as_json_and_csv(file: Path) -> None:
    statistics = json.loads(run("stats", file, "--format", "json").stdout)
    assert statistics["users"] == 2_000
    assert statistics["ratings"] == 60_000
    table = pl.read_csv(run("stats", file, "--format", "csv").stdout.encode())
    assert table["aspect"].to_list()[0] == "overall"
    assert table.height == 8


def test_stats_of_real_ratings(shared_data: Path) -> None:
    shown = run("stats", shared_data / "tripadvisor.parquet").stdout
    for number in ("9,567", "2,979", "63,840", "70.5%", "80.8%"):
        assert number in shown


def test_stats_draws_a_figure(file: Path, tmp_path: Path) -> None:
    run("stats", file, "--figure", tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


def test_prepare_filters_and_writes(file: Path, tmp_path: Path) -> None:
    result = run("prepare", file, "--k-core", 12, "--out", tmp_path / "core.parquet")
    assert result.returncode == 0, result.stderr
    counts = pl.read_parquet(tmp_path / "core.parquet").group_by("user").len()["len"]
    assert counts.min() >= 12


def test_prepare_with_odd_column_names_and_a_scale(tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("guest id\thotel\tRoom\tnights\nä\tx\t5\t3\nb\tx\tNA\t1\n")
    result = run(
        "prepare", "r.tsv", "--user", "guest id", "--item", "hotel", "--aspects", "Room",
        "--scale", "1:5", "--out", "clean.jsonl", cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()]
    assert rows == [{"user": "b", "item": "x", "Room": None}, {"user": "ä", "item": "x", "Room": 5}]


def test_prepare_splits(file: Path, tmp_path: Path) -> None:
    result = run("prepare", file, "--split", "--out", tmp_path / "parts", "--seed", 4)
    assert result.returncode == 0, result.stderr
    split = read_split(tmp_path / "parts")
    assert len(split.train) == 42_000
    assert len(split.test) == 9_000
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "test.parquet", "train.parquet", "validation.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["stats", "nowhere.csv"], "does not exist"),
        (["stats", "FILE", "--user", "guest"], "no column 'guest'"),
        (["stats", "FILE", "--aspects", "servise"], "did you mean 'service'?"),
        (["stats", "FILE", "--scale", "1-5"], "not LOW:HIGH"),
        (["stats", "FILE", "--scale", "2:5"], "outside the scale"),
        (["prepare", "FILE", "--k-core", "5000", "--out", "o.csv"], "leaves no ratings"),
        (["prepare", "FILE", "--out", "o.xlsx"], "cannot tell the format"),
        (["prepare", "FILE", "--split", "--shares", "0.5,0.5", "--out", "o"], "three numbers"),
        (["prepare", "FILE", "--split", "--shares", "0.9,0.2,0.2", "--out", "o"], "add up to 1"),
        (["prepare", "FILE", "--split", "--by", "time", "--out", "o"], "needs timestamps"),
        (["prepare", "FILE", "--split", "--out", "occupied"], "is a file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(file, tmp_path, arguments, reason) -> None:
    (tmp_path / "occupied").touch()
    result = run(*(file if word == "FILE" else word for word in arguments), cwd=tmp_path)
    assert result.returncode == 2
    assert reason in result.stderr.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("dmrank: ")
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["occupied"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = run("demo", "--out", folder)
    assert result.returncode == 0, result.stderr
    return result.stdout, folder


def test_demo_shows_statistics_and_writes_its_files(demo) -> None:
    shown, folder = demo
    assert "60,000" in shown
    assert {file.name for file in folder.iterdir()} == {
        "hotels.parquet", "hotels.dmrank", "ratings.png", "recovery.png", "training.png",
        "comparison.png", "correlations.png", "profile.png",
    }  # fmt: skip


def test_demo_recovers_the_planted_order_better_than_item_means(demo) -> None:
    shown, _ = demo
    rows = re.findall(r"(\w+) +(\d+\.\d)% +(\d+\.\d)%", shown.split("Planted order")[1])
    assert len(rows) == 8
    assert all(float(ours) > float(plain) and float(ours) > 80 for _, ours, plain in rows)
