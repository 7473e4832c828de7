"""What every command's help says, and that its examples run."""

import shlex
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import dmrank
from dmrank import make_ratings
from dmrank.cli.app import app
from dmrank.cli.options import MODEL_NAMES
from dmrank.cli.prepare import write_split
from dmrank.models import MODELS
from dmrank.service.keys import add_key
from dmrank.service.store.sqlite import SqliteStore
from tests.text.corpus import make_reviews


def _walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walk(inner, (*path, name))


COMMANDS = dict(_walk(typer.main.get_command(app)))
EXAMPLES = [example for each in COMMANDS.values() for example in each.callback.examples]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_help_shows_no_type_for_flags_and_ends_with_two_examples(path: tuple[str, ...]) -> None:
    help_text = CliRunner().invoke(app, [*path, "--help"], prog_name="dmrank").stdout
    assert "<bool>" not in help_text
    assert "--help" in help_text
    first, second = COMMANDS[path].callback.examples
    _, _, ending = help_text.partition("\n Examples:\n")
    assert ending.startswith(f"   {first}\n   {second}\n")
    for example in (first, second):
        assert example.startswith(" ".join(["dmrank", *path]))


def test_every_command_can_be_quiet() -> None:
    for path, command in COMMANDS.items():
        if path not in (("aspects",), ("keys",), ("ratings",)):  # whose commands have the option
            assert "--quiet" in [name for option in command.params for name in option.opts]


def test_the_help_of_fit_names_every_model() -> None:
    assert set(MODEL_NAMES) == set(MODELS)
    help_text = CliRunner().invoke(app, ["fit", "--help"], env={"COLUMNS": "200"}).stdout
    assert ", ".join(MODEL_NAMES[:5]) in help_text


def test_the_help_documents_exit_codes_as_the_docs_do() -> None:
    help_text = CliRunner().invoke(app, ["--help"]).stdout
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    for code in ("0", "1", "2", "130", "143"):
        assert f"\n   {code} " in help_text
        assert f"\n| {code} |" in page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    ratings = make_ratings(80, 40, 1_600, seed=1).ratings
    ratings.write(folder / "ratings.csv")
    split = ratings.split()
    write_split(split, folder / "parts")
    dmrank.DMR(iterations=100, factors=4).fit(split.train).save(folder / "model.dmrank")
    dmrank.EASE().fit(split.train).save(folder / "ease.dmrank")
    make_reviews(300).write_csv(folder / "reviews.csv")
    (folder / "aspects.toml").write_text('[aspects]\nrooms = ["room"]\n')
    shutil.copy(folder / "model.dmrank", folder / "hotels.dmrank")
    add_key(folder / "serve.toml", "shop", ("read",), 1.0)
    store = SqliteStore(folder / "hotels.ratings.sqlite")
    store.put("ann", {"h000001": {"overall": 5.0}})
    store.close()
    return folder


def _no_database(url: str) -> SqliteStore:
    assert url == "postgresql://db/hotels"
    return SqliteStore(Path("hotels.ratings.sqlite"))


@pytest.mark.parametrize("example", dict.fromkeys(EXAMPLES))
def test_an_example_runs(
    example: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # What takes long has tests of its own; here it is called with what the example says.
    monkeypatch.setattr("dmrank.experiments.paper.run_paper", lambda *_, **__: "results")
    monkeypatch.setattr(
        import_module("dmrank.models.warm_up"), "warm_up", lambda *kinds: len(kinds)
    )
    monkeypatch.setattr(
        "dmrank.data.synthetic.make_hotels", lambda seed: make_ratings(80, 40, 1_600, seed=seed)
    )
    monkeypatch.setattr("dmrank.service.server.serve", lambda *_, **__: None)
    monkeypatch.setattr("webbrowser.open", lambda _: None)
    # There is no such database here.
    monkeypatch.setattr("dmrank.service.store.opening.PostgresStore", _no_database)
    command, _, _ = example.partition(" | ")
    result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
