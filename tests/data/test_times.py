"""Times: whole numbers to the last digit, dates to the microsecond or finer, unknown ones first."""

from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import DataError, Ratings, read_ratings
from dmrank.data.reading.read import join_parts
from dmrank.data.times import NO_TIMESTAMP, Times

ENDINGS = [".csv", ".tsv", ".parquet", ".jsonl"]


def _read(times: object, stars: object = None) -> Ratings:
    """Read ratings of one user, of an item each, or of one item where stars are given."""
    column = pl.Series("timestamp", times)
    items = [f"{n:03}" for n in range(len(column))] if stars is None else ["i"] * len(column)
    table = {"user": ["u"] * len(column), "item": items, "r": stars or [1] * len(column)}
    return read_ratings(pl.DataFrame(table).with_columns(column), verbose=False)


def _times(ratings: Ratings) -> tuple[list[int], str]:
    assert ratings.timestamps is not None
    return ratings.timestamps.tolist(), ratings.time_unit


def test_of_two_ratings_within_a_second_the_later_counts() -> None:
    for times in (
        [datetime(2012, 5, 31, 12, 0, 0, 2), datetime(2012, 5, 31, 12, 0, 0, 1)],
        ["2012-05-31T12:00:00.000002", "2012-05-31T12:00:00.000001"],
        ["2012-05-31T12:00:00.000000002", "2012-05-31T12:00:00.000000001"],
        [1338465600.25, 1338465600.125],
        ["1338465600.25", "1338465600.125"],
    ):
        assert _read(times, [5, 1]).values.tolist() == [[5]]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_whole_numbers_keep_every_digit(tmp_path: Path, ending: str) -> None:
    later, earlier = 1_700_000_000_000_000_001, 1_700_000_000_000_000_000
    table = pl.DataFrame(
        {"user": ["u"] * 2, "item": ["i"] * 2, "r": [5, 1], "timestamp": [later, earlier]}
    )
    path = tmp_path / f"r{ending}"
    {".csv": table.write_csv, ".jsonl": table.write_ndjson, ".parquet": table.write_parquet}[
        ending
    ](path)
    ratings = read_ratings(path, verbose=False)
    assert ratings.values.tolist() == [[5]]
    assert _times(ratings) == ([later], "s")


def test_what_is_whole_seconds_counts_seconds() -> None:
    day = date(1970, 1, 2)
    for times in ([day], [datetime(1970, 1, 2)], ["1970-01-02 00:00:00.000"], [86400.0], [86400]):
        assert _times(_read(times)) == ([86400], "s")
    zoned = pl.Series("timestamp", [datetime(1970, 1, 2, tzinfo=UTC)])
    assert _times(_read(zoned)) == ([86400], "s")


def test_one_fraction_makes_all_of_them_finer() -> None:
    mixed = ["7", "1970-01-02", "1.5", "", "NA"]
    assert _times(_read(mixed)) == (
        [7_000_000, 86_400_000_000, 1_500_000, NO_TIMESTAMP, NO_TIMESTAMP],
        "us",
    )
    nanoseconds = pl.Series("timestamp", [1, None]).cast(pl.Datetime("ns"))
    assert _times(_read(nanoseconds)) == ([1, NO_TIMESTAMP], "ns")


def test_a_missing_time_is_unknown() -> None:
    assert _times(_read([float("nan"), 5.0])) == ([NO_TIMESTAMP, 5], "s")
    assert _times(_read(pl.Series("timestamp", [None, None]))) == ([NO_TIMESTAMP] * 2, "s")


def test_dates_far_away_do_not_wrap_around() -> None:
    far = ["9999-01-01 00:00:00.123456789"]
    assert _times(_read(far)) == ([253_370_764_800_123_456], "us")


def test_a_day_above_twelve_tells_that_days_come_first() -> None:
    ratings = _read(["03/04/2012", "25/04/2012"])
    assert _times(ratings) == ([1333411200, 1335312000], "s")


def test_whole_numbers_too_large_for_seconds_beside_finer_times() -> None:
    with pytest.raises(DataError, match="too large for seconds beside times that are finer"):
        _read(["1700000000000000000", "1.5"])


@pytest.mark.parametrize("ending", ENDINGS)
@given(ticks=st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=5))
def test_times_finer_than_seconds_are_written_and_read_back(
    tmp_path_factory, ending, ticks
) -> None:
    stamps = pl.Series(ticks).cast(pl.Datetime("us"))
    items = [str(n) for n in range(len(ticks))]
    ratings = Ratings.from_arrays(
        ["u"] * len(ticks), items, [[1]] * len(ticks), aspects=["r"], timestamps=stamps
    )
    path = tmp_path_factory.mktemp("times") / f"r{ending}"
    ratings.write(path)
    assert read_ratings(path, verbose=False) == ratings


def test_parts_of_a_split_get_one_unit(tmp_path: Path) -> None:
    ratings = Ratings.from_arrays(
        ["a", "b", "c"], ["x"] * 3, [[1]] * 3, aspects=["r"], timestamps=[1.0, 2.5, 3.0]
    )
    parts = []
    for row, name in enumerate(("train", "validation", "test")):
        ratings.select(np.array([row])).write(tmp_path / f"{name}.parquet")
        parts.append(read_ratings(tmp_path / f"{name}.parquet", verbose=False))
    assert [part.time_unit for part in parts] == ["s", "us", "s"]
    split = join_parts(*parts)
    joined = [_times(part) for part in (split.train, split.validation, split.test)]
    assert joined == [([1_000_000], "us"), ([2_500_000], "us"), ([3_000_000], "us")]


def test_a_split_by_time_sees_fractions_of_a_second() -> None:
    ratings = Ratings.from_arrays(
        ["u"] * 4, list("abcd"), [[1]] * 4, aspects=["r"], timestamps=[0.4, 0.3, 0.2, 0.1]
    )
    split = ratings.split(0.5, 0.25, 0.25, by="time")
    newest = split.test.items.names(split.test.item_codes)
    assert newest.to_list() == ["a"]


def test_times_of_arrays_are_read_like_those_of_tables() -> None:
    def times(given: object) -> tuple[list[int], str]:
        return _times(Ratings.from_arrays(["u"], ["i"], [[1]], aspects=["r"], timestamps=given))

    assert times(np.array(["2012-05-31"], dtype="datetime64[D]")) == ([1338422400], "s")
    assert times([datetime(1970, 1, 1, 0, 0, 0, 5)]) == ([5], "us")
    assert times([0.25]) == ([250_000], "us")
    for none in (["soon"], [float("inf")], [2**70], [[1]], 5):
        with pytest.raises(DataError, match="time"):
            times(none)


@given(st.lists(st.integers(-(10**9), 10**9), max_size=4), st.sampled_from(["s", "us", "ns"]))
def test_the_coarsest_unit_has_the_same_times(values: list[int], unit) -> None:
    times = Times(np.array([*values, NO_TIMESTAMP], dtype=np.int64), unit)
    coarse = times.coarsest()
    assert coarse.to("ns").tolist() == times.to("ns").tolist()
    assert coarse.coarsest().unit == coarse.unit
