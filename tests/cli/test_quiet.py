"""`--quiet`: results and errors, and nothing else."""

import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dmrank.cli.app import app
from dmrank.support.progress import logger
from tests.cli.running import run


def _say(*arguments: object) -> tuple[str, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.mark.parametrize("first", [True, False], ids=["before the command", "after it"])
def test_a_quiet_command_prints_its_result_alone(split_folder: Path, first: bool) -> None:
    command = ["stats", split_folder / "train.parquet", "--format", "json"]
    result, said = _say(*command)
    assert "rating vectors" in said
    assert _say(*(["--quiet", *command] if first else [*command, "-q"])) == (result, "")
    assert logger.level == logging.NOTSET


def test_a_quiet_fit_says_nothing(split_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.dmrank"
    command = ["fit", split_folder / "train.parquet", "--model", "itemmean", "--out", out]
    assert _say(*command, "--quiet") == ("", "")
    assert out.exists()


def test_errors_are_said_nevertheless(tmp_path: Path) -> None:
    result = run("--quiet", "stats", "nowhere.csv", "--quiet", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == "dmrank: nowhere.csv does not exist: check the path\n"
