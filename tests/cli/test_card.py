"""`dmrank card`: what is known of a model file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dmrank import ItemMean, make_ratings
from dmrank.cli.app import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings).save(tmp_path / "means.dmrank")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*words: str) -> str:
    result = CliRunner().invoke(app, ["card", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_card_is_named_after_its_file_and_loads_it(folder: Path) -> None:
    shown = _run("means.dmrank")
    assert "# means\n" in shown
    assert 'dmrank.load("means.dmrank")' in shown


def test_json_is_for_machines(folder: Path) -> None:
    facts = json.loads(_run("means.dmrank", "--format", "json", "--name", "Means"))
    assert (facts["name"], facts["model"], facts["training"]["ratings"]) == (
        "Means",
        "ItemMean",
        500,
    )


def test_it_is_written_where_asked(folder: Path) -> None:
    _run("means.dmrank", "--out", "README.md", "--license", "mit")
    assert 'license: "mit"' in (folder / "README.md").read_text("utf-8")


def test_fit_writes_one_beside_the_model(folder: Path) -> None:
    make_ratings(50, 20, 500, seed=1).ratings.write(folder / "ratings.csv")
    words = ["fit", "ratings.csv", "--model", "itemmean", "--out", "m.dmrank", "--card"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "# ItemMean" in (folder / "m.md").read_text("utf-8")
