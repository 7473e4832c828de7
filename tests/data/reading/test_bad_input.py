"""Bad input: one clear line that names the thing and the remedy, and nothing is written."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dmrank import ConfigError, DataError, UnknownAspectError, read_ratings

HEADER = "user,item,overall,service\n"


def _error(source, **options) -> str:
    with pytest.raises((DataError, ConfigError, UnknownAspectError)) as caught:
        read_ratings(source, verbose=False, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def _csv(folder: Path, text: str | bytes, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_missing_file(tmp_path: Path) -> None:
    assert "nowhere.csv does not exist" in _error(tmp_path / "nowhere.csv")


def test_directory(tmp_path: Path) -> None:
    assert "is a directory: name the file" in _error(tmp_path)


def test_unknown_format(tmp_path: Path) -> None:
    assert "cannot tell the format" in _error(_csv(tmp_path, "x", "r.xlsx"))


def test_empty_file(tmp_path: Path) -> None:
    assert "r.csv is empty" in _error(_csv(tmp_path, ""))


@pytest.mark.parametrize("name", ["r.csv.gz", "r.jsonl.gz"])
def test_empty_compressed_file(tmp_path: Path, name: str) -> None:
    message = _error(_csv(tmp_path, gzip.compress(b""), name))
    assert name in message


def test_header_only(tmp_path: Path) -> None:
    assert "has a header but no rows" in _error(_csv(tmp_path, HEADER))


def test_table_without_rows() -> None:
    table = pl.DataFrame(schema={"user": pl.String, "item": pl.String, "r": pl.Float32})
    assert "no rows" in _error(table)


def test_missing_column_names_the_nearest(tmp_path: Path) -> None:
    path = _csv(tmp_path, "users,item,overall\na,b,1\n")
    message = _error(path)
    assert "no column 'user' for the user" in message
    assert "did you mean 'users'?" in message


def test_typing_error_in_an_aspect(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, HEADER + "a,b,1,2\n"), aspects=["overal"])
    assert "no column 'overal'" in message
    assert "did you mean 'overall'?" in message


@pytest.mark.parametrize("name", ["r.csv", "r.tsv"])
def test_aspect_that_is_not_numeric_names_first_value_and_row(tmp_path: Path, name: str) -> None:
    text = HEADER + "a,b,1,2\nc,d,2,five\ne,f,3,six\n"
    path = _csv(tmp_path, text.replace(",", "\t") if name == "r.tsv" else text, name)
    message = _error(path, aspects=["overall", "service"])
    assert "column 'service', row 2: 'five' is not a number" in message


def test_a_bad_value_far_down_is_found_with_its_row(tmp_path: Path) -> None:
    rows = [f"u{n},i{n % 7},4,5" for n in range(200_000)]
    rows[150_000] = "u150000,i,4,five"
    message = _error(_csv(tmp_path, HEADER + "\n".join(rows)))
    assert "column 'service', row 150,001: 'five' is not a number" in message


def test_aspect_of_another_type_in_a_table() -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "r": [[1, 2]]})
    assert "not numeric" in _error(table, aspects=["r"])
    words = pl.DataFrame({"user": ["a"], "item": ["b"], "r": ["good"]})
    assert "column 'r', row 1: 'good' is not a number" in _error(words, aspects=["r"])


def test_bad_value_in_json_lines(tmp_path: Path) -> None:
    lines = '{"user": "a", "item": "b", "r": 1}\n{"user": "a", "item": "c", "r": "good"}\n'
    message = _error(_csv(tmp_path, lines, "r.jsonl"), aspects=["r"])
    assert "column 'r', row 2: 'good' is not a number" in message


def test_lines_that_are_not_json(tmp_path: Path) -> None:
    path = _csv(tmp_path, '{"user": "a", "item": "b", "r": 1}\nuser,item\n', "r.jsonl")
    assert "line 2 is not JSON" in _error(path)


@pytest.mark.parametrize("word", ["inf", "-inf"])
def test_infinite_value(tmp_path: Path, word: str) -> None:
    message = _error(_csv(tmp_path, HEADER + f"a,b,1,2\nc,d,{word},4\n"))
    assert "column 'overall', row 2" in message
    assert "infinite" in message


def test_no_aspect_columns(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, "user,item,text\na,b,fine\n"))
    assert "aspects=[] means implicit feedback" in message


@pytest.mark.parametrize("row", [",b,1,2", "a,,1,2", '"",b,1,2'])
def test_empty_user_or_item(tmp_path: Path, row: str) -> None:
    message = _error(_csv(tmp_path, HEADER + f"x,y,1,2\n{row}\n"))
    assert "row 2" in message
    assert "is empty" in message


def test_rating_outside_the_declared_scale(tmp_path: Path) -> None:
    path = _csv(tmp_path, HEADER + "a,b,1,2\nc,d,5,6\n")
    assert "column 'service', row 2: 6 is outside the scale 1 to 5" in _error(path, scale=(1, 5))
    assert "row 2: 5 is outside the scale 1 to 4" in _error(path, scale={"overall": (1, 4)})


def test_rating_outside_the_scale_of_a_long_table() -> None:
    table = pl.DataFrame({"user": ["a"] * 2, "item": ["b"] * 2, "k": ["o", "s"], "r": [9, 9]})
    message = _error(table, aspect="k", rating="r", scale={"s": (1, 5)})
    assert "column 's', row 2: 9 is outside the scale 1 to 5" in message


def test_impossible_scales(tmp_path: Path) -> None:
    path = _csv(tmp_path, HEADER + "a,b,1,2\n")
    assert "low must be below high" in _error(path, scale=(5, 1))
    assert "did you mean 'service'?" in _error(path, scale={"servise": (1, 5)})


def test_unreadable_parquet(tmp_path: Path) -> None:
    assert "not a readable parquet file" in _error(_csv(tmp_path, b"PAR1 not really", "r.parquet"))


def test_truncated_parquet(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"user": ["a"], "item": ["b"], "r": [1]}).write_parquet(whole)
    cut = _csv(tmp_path, whole.read_bytes()[:-20], "cut.parquet")
    assert "cut.parquet is not a readable parquet file" in _error(cut)


def test_truncated_gzip(tmp_path: Path) -> None:
    rows = "".join(f"user{n},item{n},{n % 5},3\n" for n in range(5_000))
    cut = _csv(tmp_path, gzip.compress((HEADER + rows).encode())[:-500], "r.csv.gz")
    assert "r.csv.gz" in _error(cut)


def test_wrong_encoding(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, (HEADER + "Zoë,café,1,2\n").encode("latin-1")))
    assert "not UTF-8 text; convert it first" in message


def test_ragged_rows(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, HEADER + "a,b,1,2\nc,d,1,2,3,4\n"))
    assert "r.csv: cannot be read" in message


def test_half_a_long_table() -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "k": ["o"], "r": [1]})
    assert "needs both aspect= and rating=" in _error(table, aspect="k")


def test_long_table_without_the_wanted_aspect() -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "k": ["o"], "r": [1]})
    assert "never names the aspect 'x'" in _error(table, aspect="k", rating="r", aspects=["x"])


def test_times_that_are_none(tmp_path: Path) -> None:
    path = _csv(tmp_path, "user,item,r,timestamp\na,b,1,yesterday\n")
    assert "'yesterday' is not a time" in _error(path)


def test_something_that_is_no_table() -> None:
    assert "cannot read ratings from ndarray" in _error(np.zeros((3, 3)))
