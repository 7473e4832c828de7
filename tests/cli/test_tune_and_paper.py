"""`dmrank tune` and `dmrank paper`."""

import json
import tomllib
from pathlib import Path

import pytest

from dmrank import make_ratings
from dmrank.cli.prepare import write_split
from tests.cli.running import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ratings")
    ratings = make_ratings(80, 40, 1_600, seed=1).ratings
    ratings.write(folder / "ratings.parquet")
    write_split(ratings.split(), folder)
    return folder


PARTS = ["--train", "train.parquet", "--validation", "validation.parquet"]


def test_tuned_parameters_are_a_file_that_fit_reads(folder: Path) -> None:
    tuned = run(
        "tune", "ItemMean", *PARTS, "--trials", 3, "--storage", "trials.sqlite",
        "--out", "tuned.toml", cwd=folder,
    )  # fmt: skip
    assert tuned.returncode == 0, tuned.stderr
    assert "shrinkage" in tuned.stdout
    assert tomllib.loads((folder / "tuned.toml").read_text())["shrinkage"] > 0
    fitted = run(
        "fit", "train.parquet", "--model", "itemmean", "--config", "tuned.toml",
        "--out", "means.dmrank", cwd=folder,
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr


def test_a_search_goes_on_from_its_file(folder: Path) -> None:
    search = ["tune", "EASE", *PARTS, "--storage", "more.sqlite", "--format", "json", "--trials"]
    first = json.loads(run(*search, 2, cwd=folder).stdout)["trials"]
    both = json.loads(run(*search, 4, cwd=folder).stdout)["trials"]
    assert both[:2] == first
    assert len(both) == 4


def test_the_paper_is_one_command(folder: Path) -> None:
    command = ["paper", "--ratings", "ratings.parquet", "--out", "results", "--budget", "quick"]
    result = run(*command, "--models", "ItemMean,Popularity", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "report.html" in result.stderr
    assert (folder / "results" / "tables" / "table-2.md").exists()
    other = run(*command, "--models", "Popularity", cwd=folder)
    assert other.returncode == 2
    assert "results holds a run with models" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["paper", "--ratings", "ratings.parquet", "--out", "x", "--models", ","], "no model"),
        (["paper", "--ratings", "ratings.parquet", "--out", "x", "--budget", "qick"], "'quick'"),
        (["paper", "--ratings", "none.parquet", "--out", "x"], "none.parquet"),
        (["paper", "--ratings", "ratings.parquet", "--out", "train.parquet"], "is a file"),
        (["tune", "DMRR", *PARTS], "no model 'DMRR'"),
        (["tune", "EASE", *PARTS, "--trials", "0"], "at least one"),
        (["tune", "EASE", *PARTS, "--set", "fators=3"], "no parameter 'fators'"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_exit_code_2(
    folder: Path, arguments: list[str], reason: str
) -> None:
    result = run(*arguments, cwd=folder)
    assert result.returncode == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert not (folder / "x").exists()
