"""Bad input: one clear line that names the thing and the remedy, and nothing is written."""

import gzip
import os
from dataclasses import replace
from datetime import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dmrank import ConfigError, DataError, UnknownAspectError, read_ratings
from dmrank.data.reading.opening import open_table

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


def test_a_table_over_which_polars_panics(tmp_path: Path) -> None:
    table = open_table(_csv(tmp_path, HEADER + "a,b,1,2\n"))

    def panic(types: object) -> pl.LazyFrame:
        raise pl.exceptions.PanicException("called unwrap() on a None value")

    with pytest.raises(DataError, match=r"r.csv: cannot be read: called unwrap\(\)"):
        list(replace(table, scan=panic).batches(text=["user"], numbers=[]))


def test_truncated_gzip(tmp_path: Path) -> None:
    rows = "".join(f"user{n},item{n},{n % 5},3\n" for n in range(5_000))
    cut = _csv(tmp_path, gzip.compress((HEADER + rows).encode())[:-500], "r.csv.gz")
    assert "r.csv.gz" in _error(cut)


def test_wrong_encoding(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, (HEADER + "Zoë,café,1,2\n").encode("latin-1")))
    assert "not UTF-8 text; convert it first" in message
    message = _error(_csv(tmp_path, "user\titem\tgoût\na\tx\t1\n".encode("latin-1"), "r.tsv"))
    assert "not UTF-8 text; convert it first" in message


def test_bytes_are_no_ids() -> None:
    table = pl.DataFrame({"user": ["a"], "item": [b"x"], "overall": [4.5]})
    with pytest.raises(DataError, match="column 'item' has values that are no ids"):
        read_ratings(table)


def test_ragged_rows(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, HEADER + "a,b,1,2\nc,d,1,2,3,4\n"))
    assert "r.csv: cannot be read" in message


def test_half_a_long_table() -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "k": ["o"], "r": [1]})
    assert "needs both aspect= and rating=" in _error(table, aspect="k")


def test_long_table_without_the_wanted_aspect() -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "k": ["o"], "r": [1]})
    assert "never names the aspect 'x'" in _error(table, aspect="k", rating="r", aspects=["x"])


@pytest.mark.parametrize("word", ["yesterday", "inf", "1e30", "9223372036854775808"])
def test_times_that_are_none(tmp_path: Path, word: str) -> None:
    path = _csv(tmp_path, f"user,item,r,timestamp\na,b,1,5\nb,b,1,{word}\n")
    assert f"column 'timestamp', row 2: '{word}' is not a time" in _error(path)


@pytest.mark.parametrize("value", [float("inf"), 1e30, 2**64 - 1])
def test_numbers_that_are_no_times(value: float) -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "r": [1], "timestamp": [value]})
    assert "is not a time" in _error(table)


@pytest.mark.parametrize("value", [time(12, 30), [1], True])
def test_types_that_are_no_times(value: object) -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "r": [1], "timestamp": [value]})
    assert "which says no date" in _error(table)


@pytest.mark.parametrize("day", ["03/04/2012", "3-4-2012", "03/04/2012 10:00"])
def test_a_date_may_have_the_day_or_the_month_first(tmp_path: Path, day: str) -> None:
    text = f"user,item,r,timestamp\na,b,1,04/04/2012\nb,b,1,{day}\n"
    message = _error(_csv(tmp_path, text))
    assert f"row 2: '{day}' may have the day or the month first; write dates as" in message


def test_a_word_among_numbers_is_an_error_wherever_it_stands(tmp_path: Path) -> None:
    for row in (2, 9_999, 15_001):
        rows = [f"u{n},i,4,5" for n in range(1, 20_001)]
        rows[row - 1] = f"u{row},i,4,4 stars"
        message = _error(_csv(tmp_path, HEADER + "\n".join(rows)))
        assert f"column 'service', row {row:,}: '4 stars' is not a number" in message


def test_a_word_among_numbers_of_json_lines(tmp_path: Path) -> None:
    lines = '{"user": "a", "item": "b", "r": 1}\n{"user": "c", "item": "b", "r": "4 stars"}\n'
    message = _error(_csv(tmp_path, lines, "r.jsonl"))
    assert "column 'r', row 2: '4 stars' is not a number" in message


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ('a,x,1,ok\nb,y,2,"5" tv"\nc,z,3,ok\nd,w,4,"5" tv"\ne,v,5,ok\n', "row 2"),
        ('a,x,1,ok\nb,y,2,5" tv\nc,z,3,ok\nd,w,4,5" tv\n', "row 2"),
        ('a,x,1,ok\nb,y,2,"never closed\nc,z,3,ok\n', "row 2"),
        ('a,x,1,ok\nb,y",2",ok\nc,z,3,ok\n', "row 2"),
        ('a,x,1,ok\nb,y,2,odd"', "row 2"),
    ],
    ids=["goes-on", "unquoted", "open", "over-a-comma", "at-the-end"],
)
def test_a_quote_that_would_swallow_rows(tmp_path: Path, rows: str, row: str) -> None:
    message = _error(_csv(tmp_path, "user,item,r,note\n" + rows))
    assert f"{row}: a double quote stands where none may; quote the whole value" in message


def test_a_stray_quote_in_the_header(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, 'user,item,r,"no"te\na,x,1,f\nb,y,2,f\n'))
    assert "the header: a double quote stands where none may" in message


def test_a_carriage_return_inside_of_a_row(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, HEADER + "a,b,1,2\nc,d\r,1,2\n"))
    assert "row 2: a carriage return stands inside" in message


def test_carriage_returns_alone(tmp_path: Path) -> None:
    message = _error(_csv(tmp_path, (HEADER + "a,b,1,2\n").replace("\n", "\r")))
    assert "lines end in carriage returns alone; turn them into newlines" in message


def test_fewer_rows_than_there_are(tmp_path: Path) -> None:
    """Whatever makes Polars pass over a row, the other count tells."""
    table = open_table(_csv(tmp_path, HEADER + "a,b,1,2\nc,d,1,2\n"))
    lossy = replace(table, scan=lambda types: table.scan(types).head(1))
    with pytest.raises(DataError, match="1 rows were read where there are 2"):
        list(lossy.batches(text=["user"], numbers=[]))


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(tmp_path: Path, name: str, encoding: str) -> None:
    text = '{"user": "a"}\n' if name == "r.jsonl" else HEADER + "a,b,1,2\n"
    assert "is UTF-16 text: convert it first" in _error(_csv(tmp_path, text.encode(encoding), name))


def test_json_lines_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = _csv(tmp_path, '\ufeff{"user": "a", "item": "b", "r": 1}\n', "r.jsonl")
    assert "starts with a byte order mark, which is not JSON: take it off" in _error(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"user": "b", "item": "b", "r": NaN}', "NaN is no value of JSON; write null"),
        ('{"user": "b", "item": "b", "r": 1e400}', "1e400 is too large"),
        ('[{"user": "b", "item": "b", "r": 1}]', "it is a list; write one object per line"),
        ('{"user": "b", "item": ', "Expecting value"),
    ],
)
def test_what_is_not_json_is_named_with_its_line(tmp_path: Path, line: str, reason: str) -> None:
    path = _csv(tmp_path, '{"user": "a", "item": "b", "r": 1}\n\n' + line + "\n", "r.jsonl")
    message = _error(path)
    assert "line 3 is not JSON" in message
    assert reason in message


def test_a_list_instead_of_json_lines(tmp_path: Path) -> None:
    path = _csv(tmp_path, '[{"user": "a", "item": "b", "r": 1}]', "r.jsonl")
    assert "line 1 is not JSON: it is a list" in _error(path)


def test_a_key_that_is_named_twice(tmp_path: Path) -> None:
    lines = '{"user": "a", "item": "b", "r": 1}\n{"user": "c", "item": "b", "r": 1, "r": 2}\n'
    assert "line 2 names a key twice" in _error(_csv(tmp_path, lines, "r.jsonl"))


def test_json_lines_with_too_many_keys(tmp_path: Path) -> None:
    path = _csv(tmp_path, "".join(f'{{"k{n}": 1}}\n' for n in range(20_000)), "r.jsonl")
    assert "has more than 16,384 different keys" in _error(path)


@pytest.mark.parametrize("name", ["r.csv.gz", "r.jsonl.gz"])
def test_gzip_by_name_only(tmp_path: Path, name: str) -> None:
    assert "is not gzipped, as its name says: take .gz off" in _error(_csv(tmp_path, HEADER, name))


@pytest.mark.parametrize(
    ("start", "remedy"),
    [
        (gzip.compress(HEADER.encode(), mtime=0), "is gzipped, not text: add .gz to its name"),
        (b"PK\x03\x04rest", "is a zip archive or a spreadsheet, not text: unpack it"),
        (b"PAR1rest", "is a parquet file, not text: name it .parquet"),
    ],
)
@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
def test_other_formats_under_the_name_of_text(
    tmp_path: Path, name: str, start: bytes, remedy: str
) -> None:
    assert remedy in _error(_csv(tmp_path, start, name))


@pytest.mark.parametrize("place", [12, 30, -6])
def test_damaged_gzip(tmp_path: Path, place: int) -> None:
    data = bytearray(gzip.compress((HEADER + "a,b,1,2\n" * 500).encode()))
    data[place] ^= 0xFF
    assert "r.csv.gz is damaged" in _error(_csv(tmp_path, bytes(data), "r.csv.gz"))


def test_other_separators_than_the_name_says(tmp_path: Path) -> None:
    text = HEADER + "a,b,1,2\n"
    message = _error(_csv(tmp_path, text, "r.tsv"))
    assert "its header has no tabs, but commas" in message
    assert "name it .csv" in message
    assert "no tabs, but bars" in _error(_csv(tmp_path, text.replace(",", "|"), "r.tsv"))
    message = _error(_csv(tmp_path, "user|item|r|bed, breakfast\na|b|1|2\n"))
    assert "its header has bars and commas" in message


def test_a_blank_first_line(tmp_path: Path) -> None:
    assert "starts with a blank line: take it out" in _error(
        _csv(tmp_path, "\n" + HEADER + "a,b,1,2")
    )


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = _csv(tmp_path, "user,item,r,r\na,b,1,2\n")
    assert "two columns are named 'r': rename one" in _error(path)
    columns = ["user", "item", "r", "r"]
    assert "two columns are named 'r'" in _error(pd.DataFrame([["a", "b", 1, 2]], columns=columns))
    arrow = pa.table([["a"], ["b"], [1], [2]], names=columns)
    assert "rename one of them" in _error(arrow)


@pytest.mark.parametrize("aspects", [None, []])
def test_a_header_that_is_repeated_among_the_rows(
    tmp_path: Path, aspects: list[str] | None
) -> None:
    path = _csv(tmp_path, HEADER + "a,b,1,2\n" + HEADER + "c,d,1,2\n")
    message = _error(path, aspects=aspects)
    assert "row 2 repeats the header: take out that row" in message


def test_ids_that_are_floats() -> None:
    table = pd.DataFrame({"user": [1.0, np.nan], "item": ["a", "b"], "r": [1, 2]})
    assert "column 'user', row 2: the user is empty" in _error(table)
    table["user"] = [1.0, 2.5]
    assert "column 'user', row 2: 2.5 is a float, which is no id" in _error(table)
    table["user"] = [1.0, 1e17]
    assert "row 2: 1e+17 is a float" in _error(table)


def test_columns_of_several_types() -> None:
    table = pd.DataFrame({"user": [1, "a"], "item": ["a", "b"], "r": [1, 2]})
    message = _error(table)
    assert "column 'user' has values of several types (int, str)" in message


def test_a_comma_that_may_separate_thousands(tmp_path: Path) -> None:
    path = _csv(tmp_path, "user\titem\tr\na\tb\t2\nc\td\t1,500\n", "r.tsv")
    assert "column 'r', row 2: '1,500' may be 1500 or 1.500; write numbers" in _error(path)


@pytest.mark.parametrize("scale", [5, (1,), "1:5", {"overall": 3}, (None, 5)])
def test_scales_that_are_none(tmp_path: Path, scale: object) -> None:
    path = _csv(tmp_path, HEADER + "a,b,1,2\n")
    assert "give the lowest and the highest rating, such as (1, 5)" in _error(path, scale=scale)


@pytest.mark.parametrize("missing", [-1, "x", ["x"], None, [[1]]])
def test_missing_values_that_are_none(tmp_path: Path, missing: object) -> None:
    path = _csv(tmp_path, HEADER + "a,b,1,2\n")
    assert "give a list of numbers, such as [-1]" in _error(path, missing_values=missing)


def test_aspects_that_are_none(tmp_path: Path) -> None:
    path = _csv(tmp_path, HEADER + "a,b,1,2\n")
    assert "aspect 'overall' is named twice" in _error(path, aspects=["overall", "overall"])
    assert "'user' cannot be an aspect: it has another use" in _error(path, aspects=["user"])
    assert "aspects is 'overall': give a list" in _error(path, aspects="overall")
    assert "aspects is 5: give a list" in _error(path, aspects=5)
    assert "there is no column 1 for the aspects" in _error(path, aspects=[1])


def test_an_address_instead_of_a_path() -> None:
    message = _error("https://example.org/r.csv")
    assert message == "https://example.org/r.csv is a URL: download it, and name the file"


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.csv")
    assert "is a pipe or a device: write what it gives to a file first" in _error(
        tmp_path / "r.csv"
    )


def test_a_column_whose_name_would_break_the_line(tmp_path: Path) -> None:
    assert "known: '\\nuser'" in _error(_csv(tmp_path, '"\nuser",b\n1,2\n'), item="b", user="zz")


def test_something_that_is_no_table() -> None:
    assert "cannot read ratings from ndarray" in _error(np.zeros((3, 3)))


@pytest.mark.parametrize(
    "id_", ["4.25", "1e-60", "1e300", "true", "[1]", "{}"], ids=lambda text: text
)
def test_an_id_of_json_lines_that_is_no_id(tmp_path: Path, id_: str) -> None:
    lines = f'{{"user": "a", "item": "b", "r": 1}}\n{{"user": {id_}, "item": "b", "r": 2}}\n'
    assert "ids are texts" in _error(_csv(tmp_path, lines, "r.jsonl"))
