"""`dmrank stats`: what is in a file of ratings."""

import json
from pathlib import Path

import polars as pl

from tests.cli.running import run


def test_stats_as_a_table(hotels_file: Path) -> None:
    result = run("stats", hotels_file)
    assert result.returncode == 0
    assert "2,000" in result.stdout
    assert "sleep_quality" in result.stdout
    assert "aspects overall, sleep_quality" in result.stderr
    assert "\x1b" not in result.stdout


def test_stats_as_json_and_csv(hotels_file: Path) -> None:
    statistics = json.loads(run("stats", hotels_file, "--format", "json").stdout)
    assert statistics["users"] == 2_000
    assert statistics["ratings"] == 60_000
    table = pl.read_csv(run("stats", hotels_file, "--format", "csv").stdout.encode())
    assert table["aspect"].to_list()[0] == "overall"
    assert table.height == 8


def test_stats_of_real_ratings(shared_data: Path) -> None:
    shown = run("stats", shared_data / "tripadvisor.parquet").stdout
    for number in ("9,567", "2,979", "63,840", "70.5%", "80.8%"):
        assert number in shown


def test_stats_draws_a_figure(hotels_file: Path, tmp_path: Path) -> None:
    run("stats", hotels_file, "--figure", tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


def test_correlations_are_with_the_primary_aspect_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,item,value,overall\na,x,1,1\na,y,3,2\nb,x,2,5\n")
    assert "r with overall" in run("stats", "r.csv", cwd=tmp_path).stdout
