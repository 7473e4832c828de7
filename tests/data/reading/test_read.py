"""Reading: every format and kind of table, wide and long, gives the same Ratings."""

import csv
import gzip
import io
import json
import logging
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmrank import DataError, Ratings, Split, read_ratings, read_split
from dmrank.cli.prepare import write_split
from dmrank.data.reading import keys
from dmrank.data.reading.quoting import count_rows
from tests.strategies import ratings as any_ratings

ENDINGS = [".csv", ".tsv", ".parquet", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz"]


def test_nothing_is_said_when_the_logger_is_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\nann,a,3\nann,a,4\nbob,b,5\n")
    read_ratings(path)
    assert "repeated" in capsys.readouterr().err
    with caplog.at_level(logging.WARNING, logger="dmrank"):
        read_ratings(path)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=25)
@given(ratings=any_ratings())
def test_what_is_written_is_read_back(tmp_path_factory, ending: str, ratings: Ratings) -> None:
    path = tmp_path_factory.mktemp("round-trip") / f"ratings{ending}"
    ratings.write(path)
    assert read_ratings(path, aspects=ratings.aspects, verbose=False) == ratings


@given(ratings=any_ratings())
def test_a_long_table_gives_the_same_as_a_wide_one(ratings: Ratings) -> None:
    wide = ratings.to_polars()
    fixed = [name for name in wide.columns if name not in ratings.aspects]
    long = wide.unpivot(index=fixed, on=ratings.aspects, variable_name="what", value_name="stars")
    read = read_ratings(long, aspect="what", rating="stars", verbose=False)
    assert read == ratings


@pytest.fixture
def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "guest": ["007", "007", "8"],
            "hotel": ["a", "b", "a"],
            "overall": [5, 4, 3],
            "value": [4.5, None, -1],
            "comment": ["fine", "", "bad"],
        }
    )


@pytest.mark.parametrize(
    "convert",
    [
        lambda table: table,
        lambda table: table.lazy(),
        lambda table: table.to_pandas(),
        lambda table: table.to_arrow(),
        lambda table: pa.Table.from_pandas(table.to_pandas()),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "arrow-from-pandas"],
)
def test_tables_of_every_kind_are_read(table: pl.DataFrame, convert) -> None:
    ratings = read_ratings(convert(table), user="guest", item="hotel", verbose=False)
    assert ratings.aspects == ("overall", "value")
    assert list(ratings.users) == ["007", "8"]
    np.testing.assert_array_equal(ratings.values, np.float32([[5, 4.5], [4, np.nan], [3, np.nan]]))


def test_pandas_with_missing_values_and_numeric_ids() -> None:
    frame = pd.DataFrame({"user": [1, 2], "item": [10, 10], "r": [np.nan, 2.0]})
    ratings = read_ratings(frame, verbose=False)
    assert list(ratings.users) == [1, 2]
    assert list(ratings.items) == [10]


def test_leading_zeros_of_ids_survive_text_files(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,r\n007,01,1\n7,1,2\n")
    ratings = read_ratings(path, verbose=False)
    assert list(ratings.users) == ["007", "7"]
    assert list(ratings.items) == ["01", "1"]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_csv_without_commas_says_by_its_header_what_separates_it(tmp_path, separator) -> None:
    lines = ["guest;Hotel Name;overall;value", "ann;Ritz, London;5;n/a", "bob;Hilton;3;4"]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(lines).replace(";", separator), encoding="utf-8")
    ratings = read_ratings(path, user="guest", item="Hotel Name")
    assert list(ratings.items) == ["Hilton", "Ritz, London"]
    assert ratings.aspects == ("overall", "value")
    assert np.isnan(ratings.values).sum() == 1


def test_decimal_commas_are_read_where_a_comma_separates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user;item;overall;value;note\nann;Ritz;4,5;n/a;1,2,3\nbob;Ritz;3;2;so, so\n")
    ratings = read_ratings(path, verbose=False)
    assert ratings.aspects == ("overall", "value")
    assert ratings.values.tolist()[0][0] == 4.5
    path.write_text("user;item;overall\nann;Ritz;4,5\nbob;Ritz;1.234,5\n")
    with pytest.raises(DataError, match="row 2: '1.234,5' is not a number"):
        read_ratings(path, aspects=["overall"], verbose=False)


def test_no_row_is_lost_where_a_word_stands_among_numbers(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,r,s\nann,Ritz,5,n/a\nbob,Hilton,3,4")  # no newline at the end
    assert len(read_ratings(path, verbose=False)) == 2
    rows = [f"u{n},i,{n % 5 + 1}" for n in range(600_000)]
    rows[200_000] = "u200000,i,NA"
    path.write_text("user,item,r\n" + "\n".join(rows))
    ratings = read_ratings(path, verbose=False)
    assert len(ratings) == 600_000
    assert np.isnan(ratings.values).sum() == 1
    rows[500_000] = "u500000,i,many"
    path.write_text("user,item,r\n" + "\n".join(rows))
    with pytest.raises(DataError, match="row 500,001: 'many'"):
        read_ratings(path, verbose=False)


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.jsonl"])
def test_an_aspect_may_be_rated_late(tmp_path: Path, name: str) -> None:
    rows = [{"user": f"u{n}", "item": "i", "old": 4} for n in range(12_000)]
    rows.append({"user": "z", "item": "i", "old": 3, "new": 5})
    path = tmp_path / name
    if name == "r.jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        separator = "\t" if name == "r.tsv" else ","
        pl.DataFrame(rows, infer_schema_length=None).write_csv(path, separator=separator)
    ratings = read_ratings(path, verbose=False)
    assert ratings.aspects == ("old", "new")
    assert ratings.of_user("z").values.tolist() == [[3, 5]]


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
def test_text_may_have_a_number_in_it_and_it_is_said(tmp_path, name, late, capsys) -> None:
    rows = [{"user": f"u{n}", "item": "i", "r": 4, "note": "fine"} for n in range(12_000)]
    rows[11_000 if late else 1]["note"] = 5
    path = tmp_path / name
    if name == "r.jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pl.DataFrame(rows, strict=False, infer_schema_length=None).write_csv(path)
    assert read_ratings(path).aspects == ("r",)
    assert "column 'note' is text (row 1: 'fine'), and so no aspect" in capsys.readouterr().err


def test_decimal_commas_after_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    rows = [f"u{n}\ti\t4" for n in range(12_000)]
    path.write_text("user\titem\tr\n" + "\n".join([*rows, "y\ti\t4,5", "z\ti\t1,500"]))
    ratings = read_ratings(path, verbose=False)
    assert ratings.of_user("y").values.tolist() == [[4.5]]
    assert ratings.of_user("z").values.tolist() == [[1.5]]


def test_values_that_rows_end_without_are_missing_and_it_is_said(tmp_path: Path, capsys) -> None:
    path = tmp_path / "r.csv"
    path.write_text('user,item,r,s,note\na,x,1,2,"one, two"\nb,x,1\nc,x,1,2\n')
    ratings = read_ratings(path)
    assert np.isnan(ratings.values).tolist() == [[False, False], [False, True], [False, False]]
    assert "3 values at the ends of short rows count as missing" in capsys.readouterr().err


def test_a_csv_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('\ufeff"user",item,r\na,x,1\n', encoding="utf-8")
    assert list(read_ratings(path, verbose=False).users) == ["a"]


@pytest.mark.parametrize("name", ["^x$", "^.*$", "*"])
@pytest.mark.parametrize("role", ["user", "item", "timestamp", "item_name", "r", "aspect"])
def test_no_name_of_a_column_is_a_pattern(tmp_path: Path, name: str, role: str) -> None:
    columns = {"user": "7", "item": "8", "timestamp": 9, "item_name": "Ritz", "r": 5, "aspect": "a"}
    if role != "aspect":
        del columns["aspect"]
    table = pl.DataFrame([{name if key == role else key: value for key, value in columns.items()}])
    options = {} if role == "r" else {role: name}
    if role == "aspect":
        options["rating"] = "r"
    (tmp_path / "na.csv").write_text(table.write_csv() + table.write_csv().splitlines()[1])
    table.write_csv(tmp_path / "r.csv")
    table.write_ndjson(tmp_path / "r.jsonl")
    for source in (table, tmp_path / "r.csv", tmp_path / "r.jsonl", tmp_path / "na.csv"):
        ratings = read_ratings(source, verbose=False, **options)
        assert (list(ratings.users), list(ratings.items)) == (["7"], ["8"])
        assert ratings.timestamps is not None
        assert (ratings.timestamps.tolist(), ratings.item_name(0)) == ([9], "Ritz")
        assert ratings.values.tolist() == [[5]]


def test_ids_that_pandas_made_floats_are_whole_numbers_and_it_is_said(capsys) -> None:
    frame = pd.DataFrame({"user": [1.0, 2.0], "item": [2.0**53, 10.0], "r": [1.0, 2.0]})
    ratings = read_ratings(frame)
    assert list(ratings.users) == [1, 2]
    assert list(ratings.items) == [10, 9007199254740992]
    assert "ids of 'user' are floats: 1.0 is read as 1" in capsys.readouterr().err


_CELLS = st.text('ab"",;\n\r 5é', max_size=6)


@settings(max_examples=150)
@given(
    notes=st.lists(_CELLS, min_size=1, max_size=6),
    separator=st.sampled_from([",", ";", "\t"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    damage=st.none() | st.tuples(st.integers(0, 200), st.sampled_from(list('",\n\ra5'))),
)
def test_rows_are_those_of_pythons_csv_or_there_is_an_error(
    tmp_path_factory, notes, separator, quoting, damage
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=quoting)  # ends lines by \r\n
    writer.writerow(["user", "item", "r", "note"])
    writer.writerows([f"u{n}", "i", n % 5 + 1, note] for n, note in enumerate(notes))
    written = text.getvalue()
    if damage is not None:
        place, inserted = damage
        written = written[:place] + inserted + written[place:]
    path = tmp_path_factory.mktemp("csv") / ("r.tsv" if separator == "\t" else "r.csv")
    path.write_bytes(written.encode())
    try:
        ratings = read_ratings(path, aspects=["r"], verbose=False)
    except DataError:
        assert damage is not None
        return
    rows = list(csv.reader(io.StringIO(written, newline=""), delimiter=separator))[1:]
    assert sorted(ratings.users) == sorted({row[0] for row in rows if row})


_VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.just([1, {}])


@given(st.lists(st.dictionaries(st.text('ab"\\{}[],:\n', max_size=3), _VALUES), max_size=5))
def test_keys_of_json_lines_are_those_of_pythons_json(rows: list[dict[str, object]]) -> None:
    kinds: dict[str, int] = {}
    for row in rows:
        for key, value in row.items():
            kinds[key] = kinds.get(key, 0) | {
                type(None): 0, bool: keys.TRUTH, int: keys.NUMBER, str: keys.TEXT, list: keys.NESTED
            }[type(value)]  # fmt: skip
    text = "\n".join(json.dumps(row) for row in rows).encode()
    for size in (1, 7, 1 << 20):
        blocks = [text[start : start + size] for start in range(0, len(text), size)]
        found = keys.find_keys("r.jsonl", blocks)
        assert (found.rows, found.kinds) == (len(rows), kinds)


@given(st.lists(st.text('a"",\n\r', max_size=5), max_size=6), st.integers(1, 9))
def test_rows_are_counted_alike_in_blocks_of_any_size(notes: list[str], size: int) -> None:
    text = io.StringIO()
    csv.writer(text).writerows(
        [["user", "note"], *([str(n), note] for n, note in enumerate(notes))]
    )
    data = text.getvalue().encode()
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    assert count_rows("r.csv", blocks, ",") == (len(notes) + 1, len(notes) + 1)


def test_words_for_missing_are_missing_wherever_they_stand(tmp_path: Path) -> None:
    rows = [f"u{n},i,{n % 5 + 1},2" for n in range(30_000)]
    rows[25_000] = "u25000,i,NA,n/a".replace("n/a", "N/A")
    path = tmp_path / "r.csv"
    path.write_text("user,item,a,b\n" + "\n".join(rows) + "\n")
    ratings = read_ratings(path, verbose=False)
    assert len(ratings) == 30_000
    assert np.isnan(ratings.of_user("u25000").values).all()
    assert np.isnan(ratings.values).sum() == 2


def test_an_id_may_look_like_a_missing_value(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,r\nNA,null,1\nnan,None,2\n")
    ratings = read_ratings(path, verbose=False)
    assert list(ratings.users) == ["NA", "nan"]
    assert list(ratings.items) == ["None", "null"]


def test_it_says_which_aspects_it_took_and_what_it_dropped(table, capsys) -> None:
    doubled = pl.concat([table, table.head(1)])
    read_ratings(doubled, user="guest", item="hotel")
    said = capsys.readouterr().err
    assert "aspects overall, value" in said
    assert "1 repeated (user, item) dropped, the last row kept" in said


def test_dates_become_seconds() -> None:
    days = [date(1970, 1, 2), date(1970, 1, 3)]
    base = {"user": ["a", "b"], "item": ["x", "x"], "r": [1, 2]}
    for times in (
        pl.Series("timestamp", days),
        pl.Series("timestamp", [datetime(1970, 1, 2), datetime(1970, 1, 3)]),
        pl.Series(
            "timestamp", [datetime(1970, 1, 2, tzinfo=UTC), datetime(1970, 1, 3, tzinfo=UTC)]
        ),
        pl.Series("timestamp", ["1970-01-02", "1970-01-03"]),
        pl.Series("timestamp", ["86400", "172800"]),
        pl.Series("timestamp", [86400, 172800]),
    ):
        ratings = read_ratings(pl.DataFrame(base).with_columns(times), verbose=False)
        assert ratings.timestamps is not None
        assert ratings.timestamps.tolist() == [86400, 172800]
        assert ratings.aspects == ("r",)


def test_the_last_name_of_an_item_counts_and_empty_names_do_not() -> None:
    table = pl.DataFrame(
        {
            "user": ["a", "b", "c", "a"],
            "item": ["x", "x", "x", "y"],
            "item_name": ["Old", "New", None, ""],
            "r": [1, 2, 3, 4],
        }
    )
    ratings = read_ratings(table, verbose=False)
    assert [ratings.item_name(code) for code in range(2)] == ["New", "y"]


def test_no_aspects_means_implicit_feedback(table: pl.DataFrame) -> None:
    ratings = read_ratings(table, user="guest", item="hotel", aspects=[], verbose=False)
    assert ratings.aspects == ("interaction",)
    assert ratings.values.tolist() == [[1], [1], [1]]


def test_the_key_of_the_scale_in_parquet_files_never_changes(tmp_path: Path) -> None:
    """Files that were written by earlier versions keep their scale."""
    rows = pl.DataFrame({"user": ["a"], "item": ["x"], "p": [3.0]})
    rows.write_parquet(tmp_path / "old.parquet", metadata={"dmrank.scale": '{"p": [1, 20]}'})
    assert read_ratings(tmp_path / "old.parquet", verbose=False).scale.tolist() == [[1, 20]]


def test_the_scale_survives_parquet(tmp_path: Path) -> None:
    ratings = Ratings.from_arrays(["a"], ["x"], [[3, 4]], aspects=["p", "q"], scale={"p": (1, 20)})
    ratings.write(tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet", verbose=False).scale.tolist() == [[1, 20], [4, 4]]
    declared = read_ratings(tmp_path / "r.parquet", scale=(0, 10), verbose=False)
    assert declared.scale.tolist() == [[0, 10], [0, 10]]


def test_a_long_table_keeps_the_latest_evaluation_as_a_whole() -> None:
    long = pl.DataFrame(
        {
            "user": ["a"] * 5,
            "item": ["x"] * 5,
            "what": ["o", "s", "o", "o", "v"],
            "stars": [1, 2, 3, 4, 5],
            "timestamp": [1, 1, 9, 9, 9],
        }
    )
    ratings = read_ratings(long, aspect="what", rating="stars", verbose=False)
    np.testing.assert_array_equal(ratings.values, np.float32([[4, np.nan, 5]]))
    chosen = read_ratings(long, aspect="what", rating="stars", aspects=["v", "o"], verbose=False)
    assert chosen.aspects == ("v", "o")
    assert chosen.values.tolist() == [[5, 4]]


def test_json_lines_may_have_numbers_as_ids_and_lack_keys(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write('{"user": 7, "item": "x", "o": 5, "s": 1}\n{"user": "b", "item": "x", "o": 4}\n')
    ratings = read_ratings(path, verbose=False)
    assert list(ratings.users) == ["7", "b"]
    np.testing.assert_array_equal(ratings.values, np.float32([[5, 1], [4, np.nan]]))


@given(ratings=any_ratings(min_rows=6))
def test_a_split_is_read_back_with_one_id_map(tmp_path_factory, ratings: Ratings) -> None:
    folder = tmp_path_factory.mktemp("split")
    split = ratings.split(0.5, 0.25, 0.25, seed=1)
    write_split(split, folder)
    again = read_split(folder)
    assert isinstance(again, Split)
    parts = [
        (split.train, again.train),
        (split.validation, again.validation),
        (split.test, again.test),
    ]
    for one, other in parts:
        assert one == other


def test_real_ratings_have_the_documented_sizes(shared_data: Path) -> None:
    ratings = read_ratings(shared_data / "tripadvisor.parquet", verbose=False)
    assert (len(ratings.users), len(ratings.items), len(ratings)) == (9_567, 2_979, 63_840)
    assert ratings.timestamps is not None
    assert ratings.item_names is not None
    assert ratings.k_core(5) == ratings


@st.composite
def _batched_ids(draw: st.DrawFn) -> list[list[str]]:
    return draw(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=6))


@given(_batched_ids())
def test_indexing_in_batches_is_indexing_at_once(batches: list[list[str]]) -> None:
    from dmrank.data.indexing import Indexer

    names = [name or "empty" for batch in batches for name in batch]
    indexer = Indexer("user")
    codes = [
        indexer.add(pl.Series([name or "empty" for name in batch], dtype=pl.String))
        for batch in batches
    ]
    joined = np.concatenate([np.empty(0, dtype=np.int32), *codes])
    found, final_code = indexer.finish()
    assert list(found) == sorted(set(names), key=lambda name: name.encode())
    assert [found[code] for code in final_code[joined]] == names
