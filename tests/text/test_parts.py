"""A killed extraction goes on where it was, and never mixes settings."""

import json
from pathlib import Path

import polars as pl
import pytest

from dmrank import ConfigError, DataError, read_ratings
from dmrank.text import Summary
from dmrank.text.parts import Parts

RUN = {"aspects": "hotels", "scale": [1.0, 5.0]}


def _frame(first: int, rows: int) -> pl.DataFrame:
    numbers = range(first, first + rows)
    users = [f"u{number}" for number in numbers]
    ratings = pl.Series("rooms", [1.0 + number % 5 for number in numbers], dtype=pl.Float32)
    return pl.DataFrame([pl.Series("user", users), pl.Series("item", ["h"] * rows), ratings])


def test_parts_are_found_again_and_become_one_file(tmp_path: Path) -> None:
    target = tmp_path / "ratings.parquet"
    first = Parts(target, RUN)
    first.add(_frame(0, 3), Summary(reviews=4, empty=1, mentioned={"rooms": 3}))
    again = Parts(target, RUN)
    assert again.reviews == 4
    again.add(_frame(4, 2), Summary(reviews=2, mentioned={"rooms": 2}))
    assert again.summary == Summary(reviews=6, empty=1, mentioned={"rooms": 5})
    again.finish({"note": "kept"})
    assert pl.read_parquet(target).equals(pl.concat([_frame(0, 3), _frame(4, 2)]))
    assert pl.read_parquet_metadata(target)["note"] == "kept"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["r.csv", "r.tsv.gz", "r.jsonl", "r.jsonl.gz"])
def test_every_format_can_be_written(tmp_path: Path, name: str) -> None:
    parts = Parts(tmp_path / name, RUN)
    parts.add(_frame(0, 5), Summary(reviews=5))
    ratings = read_ratings(parts.finish({}), verbose=False)
    assert len(ratings) == 5


def test_parts_of_another_run_are_refused(tmp_path: Path) -> None:
    Parts(tmp_path / "r.csv", RUN).add(_frame(0, 1), Summary(reviews=1))
    with pytest.raises(ConfigError, match=r"parts of another run \(its aspects is 'hotels'"):
        Parts(tmp_path / "r.csv", {**RUN, "aspects": "beer"})


def test_a_folder_without_its_run_is_started_over(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "r.csv", RUN)
    parts.add(_frame(0, 1), Summary(reviews=1))
    (parts.folder / "run.json").unlink()
    assert Parts(tmp_path / "r.csv", RUN).reviews == 0
    assert json.loads((parts.folder / "run.json").read_text()) == RUN


def test_a_half_written_part_does_not_count(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "r.csv", RUN)
    # What a killed process leaves is a temporary file, never one with a part's name.
    (parts.folder / ".abc.part.parquet").write_bytes(b"PAR1")
    assert Parts(tmp_path / "r.csv", RUN).reviews == 0


def test_parts_without_any_rating_are_an_error_and_go(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "r.csv", RUN)
    parts.add(_frame(0, 0), Summary(reviews=7, empty=7))
    with pytest.raises(DataError, match="nothing to extract in any of 7 reviews"):
        parts.finish({})
    assert list(tmp_path.iterdir()) == []
