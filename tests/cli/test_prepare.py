"""`dmrank prepare`: clean files of ratings, whole or split."""

import json
from pathlib import Path

import polars as pl

from dmrank import read_split
from tests.cli.running import run


def test_prepare_filters_and_writes(hotels_file: Path, tmp_path: Path) -> None:
    result = run("prepare", hotels_file, "--k-core", 12, "--out", tmp_path / "core.parquet")
    assert result.returncode == 0, result.stderr
    counts = pl.read_parquet(tmp_path / "core.parquet").group_by("user").len()["len"]
    assert counts.min() >= 12


def test_prepare_with_odd_column_names_and_a_scale(tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("guest id\thotel\tRoom\tnights\nä\tx\t5\t3\nb\tx\tNA\t1\n")
    result = run(
        "prepare", "r.tsv", "--user", "guest id", "--item", "hotel", "--aspects", "Room",
        "--scale", "1:5", "--out", "clean.jsonl", cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()]
    assert rows == [{"user": "b", "item": "x", "Room": None}, {"user": "ä", "item": "x", "Room": 5}]


def test_prepare_splits(hotels_file: Path, tmp_path: Path) -> None:
    result = run("prepare", hotels_file, "--split", "--out", tmp_path / "parts", "--seed", 4)
    assert result.returncode == 0, result.stderr
    split = read_split(tmp_path / "parts")
    assert len(split.train) == 42_000
    assert len(split.test) == 9_000
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "test.parquet", "train.parquet", "validation.parquet",
    ]  # fmt: skip
