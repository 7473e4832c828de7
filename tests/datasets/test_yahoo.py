from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dmrank import Ratings, datasets
from dmrank.support.errors import ConfigError, DataError
from tests.datasets.raw_samples import tar_of

CRITERIA = ("overall", "acting", "direction", "story", "visuals")


def write(tmp_path: Path, text: str, name: str = "data_movies.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def rows(ratings: Ratings) -> list[dict[str, object]]:
    return ratings.to_polars().to_dicts()


def test_the_circulated_file_numbers_its_criteria_and_ends_with_the_movie(
    tmp_path: Path, cache: Path
) -> None:
    path = write(tmp_path, "u1\t12\t11\t13\t10\t9\tm7\t1\nu2\t1\t2\t3\t4\t5\tm7\t2\n")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache)
    assert rows(ratings)[0] == {
        "user": "u1", "item": "m7",
        "acting": 12, "direction": 11, "story": 13, "visuals": 10, "overall": 9,
    }  # fmt: skip
    assert ratings.scale.tolist() == [[1, 13]] * 5


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_a_table_with_user_item_and_criteria_needs_no_header(
    tmp_path: Path, cache: Path, separator: str
) -> None:
    path = write(tmp_path, separator.join(["u1", "m7", "5", "4", "3", "2", "1"]) + "\n")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache)
    assert ratings.aspects == CRITERIA
    assert ratings.values.tolist() == [[5, 4, 3, 2, 1]]
    assert ratings.scale.tolist() == [[1, 5]] * 5


def test_a_header_names_the_columns_in_any_order(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "Movie_ID,Directing,User ID,Overall,Note\nm7,4,u1,5,x\n")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache)
    assert rows(ratings) == [{"user": "u1", "item": "m7", "direction": 4, "overall": 5}]


def test_yahoos_own_file_has_the_overall_rating_twice(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "1\t1800029049\t12\t5\n1\t1800047831\t1\t1\n")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache)
    assert ratings.aspects == ("overall",)
    assert ratings.values.tolist() == [[12], [1]]
    assert ratings.scale.tolist() == [[1, 13]]


def test_grades_count_from_13_for_a_plus_to_1_for_f(tmp_path: Path, cache: Path) -> None:
    grades = ["A+", "A", "A-", "B+", "B", "B-", "C+", "C", "C-", "D+", "D", "D-", "F"]
    text = "user,item,overall\n" + "".join(f"u,m{k:02},{g}\n" for k, g in enumerate(grades))
    ratings = datasets.load("yahoo-movies", path=write(tmp_path, text), cache=cache)
    assert ratings.values[:, 0].tolist() == list(range(13, 0, -1))
    assert ratings.scale.tolist() == [[1, 13]]


def test_a_file_of_low_grades_is_still_on_the_scale_of_grades(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "user,item,overall\nu,m,D\n")
    assert datasets.load("yahoo-movies", path=path, cache=cache).scale.tolist() == [[1, 13]]


def test_missing_values_are_missing(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "u1,m7,5,,-1,0,NA\n")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache)
    np.testing.assert_array_equal(ratings.values, [[5, np.nan, np.nan, np.nan, np.nan]])


def test_columns_names_what_has_no_header(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "m7,x,u1,5\n")
    columns = ("item", "", "user", "plot")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache, columns=columns)
    assert rows(ratings) == [{"user": "u1", "item": "m7", "plot": 5}]


def test_columns_goes_before_a_header(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "user,item,overall\nu1,m7,5\n")
    columns = ("item", "user", "story")
    ratings = datasets.load("yahoo-movies", path=path, cache=cache, columns=columns)
    assert rows(ratings) == [{"user": "m7", "item": "u1", "story": 5}]


def test_other_columns_are_another_conversion(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "a,b,5\n")
    for columns in (("user", "item", "overall"), ("item", "user", "overall")):
        ratings = datasets.load("yahoo-movies", path=path, cache=cache, columns=columns)
        assert ratings.users[0] == {"user": "a", "item": "b"}[columns[0]]


@pytest.mark.parametrize(
    "columns", [("user", "item", ""), ("user", "x", "y"), ("user", "item") * 2]
)
def test_columns_must_name_user_item_and_an_aspect(
    tmp_path: Path, cache: Path, columns: tuple[str, ...]
) -> None:
    path = write(tmp_path, ",".join(["1"] * len(columns)) + "\n")
    with pytest.raises(ConfigError, match="should name 'user', 'item' and at least one aspect"):
        datasets.load("yahoo-movies", path=path, cache=cache, columns=columns)


def test_columns_are_for_yahoo_movies_only(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ConfigError, match="yahoo-movies only"):
        datasets.load("yelp", path=tmp_path / "x", cache=cache, columns=("user", "item", "x"))


def test_a_compressed_table_is_read(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "movies.csv.gz"
    path.write_bytes(gzip.compress(b"u1,m7,5,4,3,2,1\n"))
    assert len(datasets.load("yahoo-movies", path=path, cache=cache)) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,2,3,4,5\n", "line 1: 5 columns without a header .*columns="),
        ("u1,m7,5,4,3,2,1\nu1,m7,5\n", "line 2: 3 columns; expected 7 columns"),
        ("user,item,overall\nu1,m7,E\n", "line 2: overall is 'E'; expected a grade from A"),
        (
            "user,item,overall\nu1,m7,14\n",
            "line 2: overall is 14.0; expected a rating from 1 to 13",
        ),
        ("user,item,overall\nu1,,4\n", "line 2: item is ''; expected the id"),
        ("\n", "the file: it is blank"),
    ],
)
def test_what_is_not_the_table_is_named(tmp_path: Path, cache: Path, text: str, found: str) -> None:
    with pytest.raises(DataError, match=rf"data_movies\.txt: {found}"):
        datasets.load("yahoo-movies", path=write(tmp_path, text), cache=cache)


def test_a_header_without_rows_has_nothing_to_load(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match=r"data_movies\.txt has no review with a user"):
        datasets.load("yahoo-movies", path=write(tmp_path, "user,item,overall\n"), cache=cache)


@pytest.mark.parametrize("data", ["Amélie".encode("latin1"), b"1,2,3\n" + b"x" * 200_000])
def test_what_is_no_text_table_is_refused(tmp_path: Path, cache: Path, data: bytes) -> None:
    path = tmp_path / "movies.txt"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"movies\.txt: the file: it is no text table \("):
        datasets.load("yahoo-movies", path=path, cache=cache)


def test_an_archive_of_several_tables_must_be_unpacked(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "R4.tgz"
    path.write_bytes(tar_of({"train.txt": b"1\t2\t12\t5\n", "test.txt": b"1\t3\t12\t5\n"}, "gz"))
    with pytest.raises(DataError, match=r"R4\.tgz: the archive: it holds 2 tables; expected one"):
        datasets.load("yahoo-movies", path=path, cache=cache)


def test_there_are_no_reviews(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="yahoo-movies has no review texts"):
        datasets.load_reviews("yahoo-movies", path=tmp_path / "movies.txt")
