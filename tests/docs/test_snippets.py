"""Every snippet of the README and of the docs runs as it stands."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
import typer.testing

import dmrank
from dmrank import DMR, Hurdle, Split, make_ratings
from dmrank.cli.app import app
from dmrank.service.store.sqlite import SqliteStore
from tests.docs.pages import (
    PAGES,
    RESULTS,
    ROOT,
    Snippet,
    is_run,
    make_folder,
    run_page,
    shell_lines,
    snippets,
)

#: Contributing begins with a clone.
READ_ONLY = ("CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in RESULTS))
SNIPPETS = [snippet for page in (*PAGES, *READ_ONLY) for snippet in snippets(page)]
TUTORIALS = [
    path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs" / "tutorials").glob("*.py"))
]
SHELL = [line for page in (*PAGES, *READ_ONLY, *TUTORIALS) for line in shell_lines(page)]
COMMANDS = [*(snippet for snippet in SNIPPETS if not snippet.is_python), *SHELL]
RUNNABLE = [page for page in PAGES if any(s.page == page and is_run(s) for s in SNIPPETS)]


@pytest.fixture(scope="module")
def split() -> Split:
    return make_ratings(150, 40, 3_000, missing=0.1, seed=1).ratings.split(seed=0)


@pytest.fixture(scope="module")
def model(split: Split) -> Hurdle:
    return Hurdle(seed=0).fit(split.train, validation=split.validation)


@pytest.fixture
def folder(tmp_path: Path, model: Hurdle, split: Split) -> Path:
    """A folder with the files that pages speak of."""
    model.save(tmp_path / "hotels.dmrank")
    DMR(iterations=20, evaluate_every=10, seed=0).fit(split.train).save(tmp_path / "dmr.dmrank")
    # What a service has kept.
    store = SqliteStore(tmp_path / "hotels.ratings.sqlite")
    store.put("ann", {"h000001": {"overall": 5.0, "service": 4.0}})
    store.close()
    # What `prepare --split` writes, a model of it, and lists of another system.
    model.save(tmp_path / "ours.dmrank")
    model.recommend(["u000012", "u000013"], n=5).write_csv(tmp_path / "theirs.csv")
    for name in ("train", "validation", "test"):
        getattr(split, name).write(tmp_path / f"{name}.parquet")
    return make_folder(tmp_path)


@pytest.fixture
def names(model: Hurdle, split: Split) -> dict[str, Any]:
    """What a reader has when a page begins."""
    rated = split.train.to_polars()
    return {
        "dmrank": dmrank,
        "model": model,
        "split": split,
        "ratings": split.train,
        "all_ratings": split.train,
        "users": ["u000012", "u000013"],
        "open_today": ["h000001", "h000002", "h000003"],
        "sold_out": ["h000002"],
        "found_by_search": ["h000001", "h000002"],
        "first_ratings": rated.head(5).with_columns(user=pl.lit("newcomer")),
        "ratings_of_a_new_hotel": rated.unique("user").with_columns(item=pl.lit("a new hotel")),
    }


def _run(words: list[str]) -> None:
    """Run a command in this process: twenty would take long to start."""
    app(words[1:], standalone_mode=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:implicit")  # it has an opinion of OpenBLAS
@pytest.mark.parametrize("page", RUNNABLE)
def test_a_page_runs_as_it_stands(page: str, folder: Path, names: dict[str, Any]) -> None:
    # The README begins with nothing at all.
    run_page(page, folder, _run, {} if page == "README.md" else names)


@pytest.mark.parametrize("snippet", COMMANDS, ids=str)
def test_a_command_names_what_there_is(snippet: Snippet) -> None:
    """Also commands that take too long to be run: their options, targets and scripts exist."""
    program, first, *rest = snippet.words
    if program == "dmrank" and first.startswith("-"):
        assert first in typer.testing.CliRunner().invoke(app, ["--help"]).output
    elif program == "dmrank":
        command: Any = typer.main.get_command(app).commands[first]  # type: ignore[attr-defined]
        while hasattr(command, "commands"):  # a group of them
            first, *rest = rest
            command = command.commands[first]
        assert command.make_context(first, rest, resilient_parsing=False)
    elif program == "make":
        assert re.search(rf"^{first}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    elif first.startswith("benchmarks/"):
        assert (ROOT / first).is_file()
    elif first == "-m" and rest[0].startswith("benchmarks."):
        script = ROOT / rest[0].replace(".", "/")
        assert script.is_dir() or script.with_suffix(".py").is_file()


def test_what_is_typed_into_a_shell_is_found_in_pages_and_tutorials() -> None:
    pages = {snippet.page for snippet in SHELL}
    assert {
        "docs/start/install.md",
        "docs/how-to/containers.md",
        "docs/tutorials/paper.py",
    } <= pages


@pytest.mark.parametrize("page", [*PAGES, *READ_ONLY])
def test_no_line_of_a_page_is_a_comment_by_chance(page: str) -> None:
    """To the site, a line that begins with % says nothing."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("%")] == []


def test_no_page_of_results_has_python_that_nobody_runs() -> None:
    assert [str(s) for s in SNIPPETS if s.is_python and s.page not in RUNNABLE] == []
