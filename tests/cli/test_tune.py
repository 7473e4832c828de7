"""`dmrank tune`: good parameters, as a file that `dmrank fit` reads."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.running import run

PARTS = ["--train", "train.parquet", "--validation", "validation.parquet"]


def test_tuned_parameters_are_a_file_that_fit_reads(split_folder: Path) -> None:
    tuned = run(
        "tune", "ItemMean", *PARTS, "--trials", 3, "--storage", "trials.sqlite",
        "--out", "tuned.toml", cwd=split_folder,
    )  # fmt: skip
    assert tuned.returncode == 0, tuned.stderr
    assert "shrinkage" in tuned.stdout
    assert tomllib.loads((split_folder / "tuned.toml").read_text())["shrinkage"] > 0
    fitted = run(
        "fit", "train.parquet", "--model", "itemmean", "--config", "tuned.toml",
        "--out", "means.dmrank", cwd=split_folder,
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr


def test_members_of_a_model_are_tuned_but_for_what_is_given(split_folder: Path) -> None:
    (split_folder / "given.toml").write_text("[ease]\nregularization = 77\n")
    members = ["--set", 'members=["EASE", "Cooccurrence"]', "--config", "given.toml"]
    tuned = run(
        "tune", "Blend", *PARTS, *members, "--trials", 2, "--out", "blend.toml", cwd=split_folder
    )
    assert tuned.returncode == 0, tuned.stderr
    found = tomllib.loads((split_folder / "blend.toml").read_text())
    assert found["ease"]["regularization"] == 77
    assert "neighbours" in found["cooccurrence"]
    assert "ials" not in found
    fitted = run(
        "fit", "train.parquet", "--model", "blend", "--config", "blend.toml",
        "--out", "blend.dmrank", cwd=split_folder,
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr


def test_a_search_goes_on_from_its_file(split_folder: Path) -> None:
    search = ["tune", "EASE", *PARTS, "--storage", "more.sqlite", "--format", "json", "--trials"]
    first = json.loads(run(*search, 2, cwd=split_folder).stdout)["trials"]
    both = json.loads(run(*search, 4, cwd=split_folder).stdout)["trials"]
    assert both[:2] == first
    assert len(both) == 4


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["tune", "DMRR", *PARTS], "no model 'DMRR'"),
        (["tune", "EASE", *PARTS, "--trials", "0"], "at least one"),
        (["tune", "EASE", *PARTS, "--set", "fators=3"], "no parameter 'fators'"),
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
