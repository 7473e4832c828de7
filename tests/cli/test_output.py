"""What reaches a terminal, a pipe and a spreadsheet: names are data and never obeyed."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dmrank import ConfigError, ItemMean, Ratings, read_ratings
from dmrank.cli.app import app
from dmrank.support.files import with_safe_cells

#: Clears the screen, sets the title, goes back, starts a new line, and reverses what follows.
HOSTILE = "a\x1b[2J\x1b]0;own\x07\r\x08\n\x7f\x9b31m\u202eb"
FORMULAS = ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "\uff1d1"]


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    users = [f"u{n}" for n in range(9)] * 9
    items = [item for item in [HOSTILE, *FORMULAS, "plain"] for _ in range(9)]
    values = [[1 + n % 5, 5 - n % 3] for n in range(81)]
    return Ratings.from_arrays(users, items, values, aspects=["=overall", "ser\x1bvice"])


@pytest.fixture(scope="module")
def model(ratings: Ratings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ItemMean().fit(ratings).save(tmp_path_factory.mktemp("model") / "m.dmrank")


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.exception
    return result.stdout


RECOMMEND = ["--user", "u0", "--include-seen", "--aspects"]


def is_harmless(text: str) -> bool:
    return all(letter == "\n" or (letter.isprintable() and letter != "\u202e") for letter in text)


def test_a_table_shows_control_characters_and_obeys_none(model: Path) -> None:
    shown = invoke("recommend", model, *RECOMMEND)
    assert is_harmless(shown)
    assert r"a\x1b[2J\x1b]0;own\x07\r\x08\n\x7f\x9b31m\u202eb" in shown
    assert r"ser\x1bvice" in shown


def test_json_means_the_same_and_csv_is_exact_in_a_pipe(model: Path) -> None:
    as_json = invoke("recommend", model, *RECOMMEND, "--format", "json")
    assert is_harmless(as_json)
    assert HOSTILE in {row["item"] for row in json.loads(as_json)}
    as_csv = invoke("recommend", model, *RECOMMEND, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(as_csv, newline="")))
    assert {row["item"] for row in rows} == {HOSTILE, *FORMULAS, "plain"}


@pytest.mark.parametrize("format_", ["table", "csv"])
def test_a_terminal_gets_nothing_to_obey_but_our_own_colours(model: Path, format_: str) -> None:
    here, there = pty.openpty()
    command = [sys.executable, "-m", "dmrank", "recommend", model, *RECOMMEND]
    plain = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    subprocess.run([*command, "--format", format_], stdout=there, check=True, env=plain)
    os.close(there)
    shown = os.read(here, 100_000).decode().replace("\r\n", "\n")
    os.close(here)
    assert is_harmless(shown)
    assert "own" in shown


def test_an_error_is_one_line_whatever_it_names(tmp_path: Path) -> None:
    from tests.cli.running import run

    result = run("stats", tmp_path / "no\x1b[2J\nfile.csv")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert is_harmless(result.stderr)


# Spreadsheets.


def test_cells_of_a_csv_file_can_be_made_safe(model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.csv"
    invoke("recommend", model, *RECOMMEND, "--out", lists, "--safe-cells")
    with lists.open(newline="") as file:
        rows = list(csv.reader(file))
    cells = {cell for row in rows for cell in row}
    assert {f"'{formula}" for formula in FORMULAS} <= cells
    assert not cells & set(FORMULAS)
    assert "'=overall" in rows[0]
    printed = invoke("recommend", model, *RECOMMEND, "--format", "csv", "--safe-cells")
    assert "'=1+1" in printed


def test_cells_are_exact_unless_asked_for(ratings: Ratings, tmp_path: Path) -> None:
    again = read_ratings(ratings.write(tmp_path / "r.csv"), verbose=False)
    assert list(again.items) == list(ratings.items)
    safe = read_ratings(ratings.write(tmp_path / "s.tsv", safe_cells=True), verbose=False)
    assert {"'=1+1", "plain"} <= set(safe.items)


def test_prepared_ratings_can_be_made_safe(ratings: Ratings, tmp_path: Path) -> None:
    source = ratings.write(tmp_path / "r.parquet")
    invoke("prepare", source, "--out", tmp_path / "s.csv", "--safe-cells")
    assert "'=1+1" in (tmp_path / "s.csv").read_text()


def test_numbers_are_no_formulas() -> None:
    rows = pl.LazyFrame({"a": ["-1", None], "b": ["x", "@y"], "n": [-1.5, 2.0]})
    assert with_safe_cells(rows).collect().rows() == [("'-1", "x", -1.5), (None, "'@y", 2.0)]
    numbers = pl.LazyFrame({"n": [-1]})
    assert with_safe_cells(numbers).collect().rows() == [(-1,)]


def test_other_formats_have_nothing_to_make_safe(ratings: Ratings, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="for .csv and .tsv files"):
        ratings.write(tmp_path / "r.parquet", safe_cells=True)
    arguments = ["prepare", "none.csv", "--split", "--out", str(tmp_path / "o"), "--safe-cells"]
    result = CliRunner().invoke(app, arguments)
    assert "--split writes parquet" in str(result.exception)
    assert not list(tmp_path.iterdir())
