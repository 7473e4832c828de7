"""`dmrank paper`: every table and figure, by one command."""

from pathlib import Path

import pytest

from tests.cli.running import run


def test_the_paper_is_one_command(split_folder: Path) -> None:
    command = ["paper", "--ratings", "ratings.parquet", "--out", "results", "--budget", "quick"]
    result = run(*command, "--models", "ItemMean,Popularity", cwd=split_folder)
    assert result.returncode == 0, result.stderr
    assert "report.html" in result.stderr
    assert (split_folder / "results" / "tables" / "table-2.md").exists()
    fewer = run(*command, "--models", "Popularity", cwd=split_folder)
    assert fewer.returncode == 0
    assert "ItemMean" not in (split_folder / "results" / "tables" / "table-2.md").read_text()
    other = run(*command, "--models", "Popularity", "--k-core", "3", cwd=split_folder)
    assert other.returncode == 2
    assert "results holds a run with" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["paper", "--ratings", "ratings.parquet", "--out", "x", "--models", ","], "no model"),
        (["paper", "--ratings", "ratings.parquet", "--out", "x", "--budget", "qick"], "'quick'"),
        (["paper", "--ratings", "none.parquet", "--out", "x"], "none.parquet"),
        (["paper", "--ratings", "ratings.parquet", "--out", "train.parquet"], "is a file"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_exit_code_2(
    split_folder: Path, arguments: list[str], reason: str
) -> None:
    result = run(*arguments, cwd=split_folder)
    assert result.returncode == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert not (split_folder / "x").exists()


def test_a_model_of_ones_own_lies_beside_the_ratings(split_folder: Path) -> None:
    (split_folder / "mine.py").write_text(
        "import dmrank\n\n\nclass Mine(dmrank.Popularity):\n    pass\n", encoding="utf-8"
    )
    command = ["paper", "--ratings", "ratings.parquet", "--out", "own", "--budget", "quick"]
    result = run(*command, "--models", "mine:Mine", cwd=split_folder)
    assert result.returncode == 0, result.stderr
    assert "Mine" in (split_folder / "own" / "tables" / "table-2.md").read_text()
