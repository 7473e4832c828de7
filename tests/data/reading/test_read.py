"""Reading: every format and kind of table, wide and long, gives the same Ratings."""

import gzip
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
from tests.strategies import ratings as any_ratings

ENDINGS = [".csv", ".tsv", ".parquet", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz"]


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
    assert list(ratings.users) == ["1", "2"]
    assert list(ratings.items) == ["10"]


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
