"""`dmrank card`: what is known of a model file."""

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
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


FITTED = Path(__file__).parents[1] / "fitted"
#: Models of every released version, and of the format before; an index is no model.
FILES = [
    path
    for path in (*sorted(FITTED.glob("released/*/*.file")), FITTED / "format_1" / "hurdle.file")
    if ".index." not in path.name
]


@pytest.mark.parametrize("file", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_file_that_still_loads_has_a_card_that_hubs_read(file: Path) -> None:
    facts = json.loads(_run(str(file), "--format", "json"))
    assert facts["model"].lower() == file.stem
    read = ModelCard(_run(str(file), "--license", "mit"))
    assert (read.data.library_name, read.data.license) == ("dmrank", "mit")
    assert file.stem in read.data.tags
    noted = facts["training"]["fingerprint"] is not None
    assert noted == (file.parent.name != "format_1")
    # What is not known is said, and not left out.
    assert ("did not note its fit" in read.text) == (not noted)
    assert "Not known: see the end of this card." in read.text


def test_items_that_are_never_shown_are_spoken_of_only_where_there_are_some(folder: Path) -> None:
    few = make_ratings(30, 200, 900, seed=1).ratings
    ItemMean().fit(few).save(folder / "few.dmrank")
    assert "; the others are never shown to them." in _run("few.dmrank")
    whole = str(next(path for path in FILES if path.stem == "dmr"))
    assert "8 of 8 items (100.0%). A user" in _run(whole)
