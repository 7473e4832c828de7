"""Numeric columns are aspects, unless they are called like, or look like, something else."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import DataError, Ratings, read_ratings
from dmrank.data.reading.found_aspects import DifferentValues, called_like

ROWS = 300
REVIEWS = pl.DataFrame(
    {
        "user": [f"u{n}" for n in range(ROWS)],
        "item": [f"i{n % 7}" for n in range(ROWS)],
        "overall": [1 + n % 5 for n in range(ROWS)],
        "helpful": [n % 3 for n in range(ROWS)],
        "unixReviewTime": [1_400_000_000 + n for n in range(ROWS)],
        "price": [n % 2 * 120.0 for n in range(ROWS)],
        "length": [n / 10 for n in range(ROWS)],
        "value": [n % 10 / 2 for n in range(ROWS)],
    }
)


@pytest.mark.parametrize("kind", ["table", "csv", "jsonl", "parquet"])
def test_counts_votes_times_and_measurements_are_left_out_and_named(
    tmp_path: Path, capsys, kind: str
) -> None:
    source: object = REVIEWS
    if kind != "table":
        source = tmp_path / f"r.{kind}"
        write = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[kind]
        getattr(REVIEWS, write)(source)
    ratings = read_ratings(source)
    assert ratings.aspects == ("overall", "value")
    expected = REVIEWS.sort("user", "item").select("overall", "value").to_numpy()
    np.testing.assert_array_equal(ratings.values, expected)
    assert (
        "aspects overall, value (not helpful: a vote, unixReviewTime: a time, price: from 0 to "
        "120, length: more than 100 different values; aspects=[…] takes any); 300 rating vectors"
    ) in capsys.readouterr().err.replace("\n", " ")


def test_what_is_named_is_an_aspect_whatever_it_holds(tmp_path: Path) -> None:
    named = ["overall", "helpful", "unixReviewTime", "price"]
    ratings = read_ratings(REVIEWS, aspects=named, verbose=False)
    assert ratings.aspects == tuple(named)
    # A file of our own says what its aspects are.
    again = read_ratings(ratings.write(tmp_path / "r.parquet"), verbose=False)
    assert again == ratings
    scaled = read_ratings(REVIEWS, scale={"price": (0, 200), "helpful": (0, 2)}, verbose=False)
    assert scaled.aspects == ("overall", "helpful", "price", "value")


def test_a_table_without_ratings_says_what_it_has() -> None:
    for columns, said in (
        (["helpful"], r"no numeric column looks like ratings \(helpful: a vote\)"),
        (["price", "helpful"], r"\(helpful: a vote, price: from 0 to 120\): name the aspects"),
    ):
        with pytest.raises(DataError, match=said):
            read_ratings(REVIEWS.select("user", "item", *columns), verbose=False)


def test_a_number_for_missing_is_no_value() -> None:
    table = REVIEWS.select("user", "item", overall=pl.col("overall").replace(3, -999))
    assert read_ratings(table, missing_values=[-999], verbose=False).aspects == ("overall",)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("review_count", "a count"), ("numReviews", "a count"), ("HELPFUL_VOTES", "a vote"),
        ("timestamp", "a time"), ("reviewTime", "a time"), ("Date", "a time"),
        ("overall", ""), ("discount", ""), ("timeliness", ""), ("sleep_quality", ""), ("é^.*$", ""),
    ],
)  # fmt: skip
def test_names_are_read_word_by_word(name: str, meaning: str) -> None:
    assert called_like(name) == meaning


#: Zero has two signs, of which one is enough here.
_NUMBERS = st.floats(width=32, allow_infinity=False).map(lambda number: number + 0.0)


@given(st.lists(st.lists(_NUMBERS, max_size=150).map(np.float32), min_size=1, max_size=3))
def test_different_values_are_those_of_all_batches(batches) -> None:
    different = DifferentValues(["r"])
    for batch in batches:
        different.add(batch[:, None].copy())
    every = np.concatenate(batches)
    known = np.unique(every[~np.isnan(every)]).astype(np.float64)
    unlike = len(known) > 100 or (len(known) > 0 and np.ptp(known) > 100)
    assert ("r" in different.unlike_ratings()) == unlike


def test_ratings_of_a_hundred_different_values_are_ratings() -> None:
    percent = np.arange(1, 101).repeat(2)
    users = [f"u{n}" for n in range(200)]
    table = {"user": users, "item": users, "score": percent}
    assert isinstance(read_ratings(pl.DataFrame(table), verbose=False), Ratings)
    table["score"] = percent + (np.arange(200) % 2) / 2
    with pytest.raises(DataError, match="score: more than 100 different values"):
        read_ratings(pl.DataFrame(table), verbose=False)
