"""`dmrank compare` and `dmrank explain`: what a person asks about two items, or one."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import dmrank
from dmrank import (
    DMR,
    ItemMean,
    ModelFileError,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    UnsupportedError,
    make_ratings,
)
from dmrank.cli.app import app
from tests.cli.running import run

Ask = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    ratings: Ratings = make_ratings(100, 30, 2_000, seed=1).ratings
    settings = {"iterations": 100, "evaluate_every": 100, "batch_size": 256, "threads": 1}
    DMR(**settings).fit(ratings).save(folder / "dmr.dmrank")
    ItemMean().fit(ratings).save(folder / "mean.dmrank")
    return folder


@pytest.fixture
def ask(folder: Path, monkeypatch) -> Ask:
    """Run a command within this process: starting one for each test takes a while."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return call


COMPARE = ("compare", "dmr.dmrank", "--user", "u000003", "h000001", "h000002")
EXPLAIN = ("explain", "dmr.dmrank", "--user", "u000003", "--item", "h000001")


def test_a_comparison_has_a_row_per_aspect_and_says_how_sure_it_is(ask: Ask, folder: Path) -> None:
    shown = ask(*COMPARE)
    model = dmrank.load(folder / "dmr.dmrank")
    assert all(aspect in shown for aspect in model.catalogue.aspects)
    assert "surer than of" in shown
    assert model.catalogue.item_name(1) in shown


def test_a_comparison_for_machines(ask: Ask, folder: Path) -> None:
    expected = dmrank.load(folder / "dmr.dmrank").compare("u000003", "h000001", "h000002")
    answer = json.loads(ask(*COMPARE, "--format", "json"))
    assert answer["confidence"] == expected.confidence
    assert answer["aspects"] == expected.table.to_dicts()
    table = pl.read_csv(ask(*COMPARE, "--format", "csv").encode())
    assert table["better"].to_list() == expected.table["better"].to_list()


def test_a_model_without_covariances_still_compares(ask: Ask) -> None:
    shown = ask("compare", "mean.dmrank", "--user", "u000003", "h000001", "h000002")
    assert "orders, not how sure" in shown
    arguments = ("compare", "mean.dmrank", "--user", "u000003", "h000001", "h000002")
    assert json.loads(ask(*arguments, "--format", "json"))["confidence"] is None
    with pytest.raises(UnsupportedError, match="no covariance to draw"):
        ask(*arguments, "--figure", "x.png")


def test_an_explanation_is_a_sentence_and_its_evidence(ask: Ask, folder: Path) -> None:
    shown = ask(*EXPLAIN, "--by", "value")
    why = dmrank.load(folder / "dmr.dmrank").explain("u000003", "h000001", by="value")
    assert " ".join(shown.split()).startswith(why.sentence)
    assert "u000003's mean" in shown


def test_an_explanation_for_machines(ask: Ask, folder: Path) -> None:
    model = dmrank.load(folder / "dmr.dmrank")
    expected = model.explain("u000003", "h000001", by={"value": 2, "service": 1})
    mix = ("--by", "value=2", "--by", "service")
    answer = json.loads(ask(*EXPLAIN, *mix, "--format", "json"))
    assert answer["by"] == expected.by == "1 service + 2 value"
    assert answer["sentence"] == expected.sentence
    assert answer["aspects"] == expected.table.to_dicts()
    table = pl.read_csv(ask(*EXPLAIN, *mix, "--format", "csv").encode())
    assert table["aspect"].to_list() == expected.table["aspect"].to_list()


def test_the_sentence_can_be_replaced(ask: Ask) -> None:
    shown = ask(*EXPLAIN, "--template", "Gut: [{by}] {item}")
    assert shown.startswith("Gut: [overall] ")


def test_figures_are_drawn_on_request(ask: Ask, folder: Path) -> None:
    ask(*COMPARE, "--figure", "direction.png")
    ask(*EXPLAIN, "--figure", "profile.svg")
    assert (folder / "direction.png").stat().st_size > 10_000
    assert (folder / "profile.svg").stat().st_size > 10_000


def test_names_are_shown_as_they_are_whatever_they_hold(ask: Ask, tmp_path: Path) -> None:
    users, items = ["ann", "ann", "b[/0]", "b[/0]"], ["[bold] Inn", "Inn [/x]", "[bold] Inn", "c"]
    values = [[5, 1], [3, 2], [1, 4], [2, 5]]
    ratings = Ratings.from_arrays(users, items, values, aspects=["overall", "va[l]ue :hotel:"])
    model = str(DMR(iterations=20, threads=1).fit(ratings).save(tmp_path / "odd.dmrank"))
    shown = ask("recommend", model, "--user", "b[/0]", "--aspects")
    assert "Inn [/x]" in shown
    assert "b[/0]" in shown
    assert "va[l]ue :hotel:" in shown
    for command in (("compare", model, "c", "Inn [/x]"), ("explain", model, "--item", "Inn [/x]")):
        shown = ask(*command, "--user", "b[/0]")
        assert "Inn [/x]" in shown
        assert "va[l]ue :hotel:" in shown


def test_mistakes_are_typed(ask: Ask) -> None:
    with pytest.raises(UnknownUserError):
        ask("compare", "dmr.dmrank", "--user", "nobody", "h000001", "h000002")
    with pytest.raises(UnknownItemError):
        ask("explain", "dmr.dmrank", "--user", "u000003", "--item", "nowhere")
    with pytest.raises(UnknownAspectError):
        ask(*EXPLAIN, "--by", "servise")
    with pytest.raises(ModelFileError):
        ask("compare", "none.dmrank", "--user", "u000003", "h000001", "h000002")
    with pytest.raises(UnsupportedError):
        ask("explain", "mean.dmrank", "--user", "u000003", "--item", "h000001")


def test_a_mistake_is_one_line_and_exit_code_2(folder: Path) -> None:
    result = run("compare", "dmr.dmrank", "--user", "u000003", "h000001", "h00000", cwd=folder)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "did you mean" in result.stderr
