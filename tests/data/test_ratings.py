"""Ratings are one immutable value that does not depend on the order of the rows."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import (
    ConfigError,
    DataError,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
)
from tests.strategies import ratings as any_ratings

NAN = float("nan")


@pytest.fixture
def small() -> Ratings:
    return Ratings.from_arrays(
        ["bob", "ann", "ann"],
        ["Ritz", "Ritz", "Hilton"],
        [[4, 4], [5, 4], [3, NAN]],
        aspects=["overall", "service"],
        timestamps=[30, 10, 20],
    )


def test_rows_come_one_by_one(small: Ratings) -> None:
    first, *_, last = small
    assert first == {
        "user": "ann",
        "item": "Hilton",
        "timestamp": 20,
        "overall": 3,
        "service": None,
    }
    assert last["user"] == "bob"
    assert list(small.head(1)) == [first]
    assert len(small.head()) == len(list(small)) == 3


def test_rows_are_kept_by_users_items_masks_and_expressions(small: Ratings) -> None:
    assert small.filter(users="ann") == small.select([0, 1])
    assert small.filter(items=["Ritz"], users=["ann"]) == small.select([1])
    assert small.filter(mask=small.values[:, 0] > 3) == small.select([1, 2])
    # What is missing is neither below nor above.
    assert small.filter(pl.col("service") > 0) == small.select([1, 2])
    assert small.filter(pl.col("service") > 0, users="bob", mask=[True] * 3) == small.select([2])
    assert small.filter(users="bob").users == small.users
    assert list(small.filter(users="bob").compact().users) == ["bob"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"mask": [True]}, "a mask of 1 for 3 rows: give one truth value for each"),
        ({"mask": [0, 1, 1]}, "is no mask: give a truth value for each of the rows"),
        ({"mask": "ann"}, "'ann' is no mask"),
        ({"expression": pl.col("price") > 3}, 'the expression cannot be evaluated: .*"price"'),
        ({"expression": pl.col("overall") + 1}, "is no mask"),
        ({"expression": pl.lit(True)}, "a mask of 1 for 3 rows"),
        ({"expression": [True] * 3}, "list is no expression"),
    ],
)
def test_what_keeps_no_rows_in_particular_is_said_in_one_line(small: Ratings, asked, said) -> None:
    with pytest.raises(DataError, match=said) as raised:
        small.filter(**asked)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [-1], [3], [0.5], slice("a"), [True]])
def test_rows_that_do_not_ascend_are_refused(small: Ratings, rows: object) -> None:
    with pytest.raises(DataError, match="rows"):
        small.select(rows)


def test_pandas_gets_the_same_table(small: Ratings) -> None:
    table = small.to_pandas()
    assert table["user"].tolist() == ["ann", "ann", "bob"]
    assert table.merge(small.to_pandas(), on=["user", "item"]).shape == (3, 8)


_WITHOUT_PYARROW = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name, name="pyarrow")

sys.meta_path.insert(0, Missing())
import dmrank, pandas
frame = pandas.DataFrame({"user": ["ann"], "item": [7], "r": [5.0]})
for ask in (
    lambda: dmrank.read_ratings(frame),
    dmrank.Ratings.from_arrays([1], [2], [[3]], aspects=["r"]).to_pandas,
):
    try:
        ask()
    except dmrank.MissingExtraError as error:
        print(error)
"""


def test_without_pyarrow_the_extra_is_named() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PYARROW], capture_output=True, text=True, check=True
    )
    said = "a pandas table needs pyarrow, which is not installed: pip install 'dmrank[pandas]'"
    # Some versions of Polars and pandas exchange plain numbers without it.
    assert run.stdout.splitlines() in ([said], [said, said])


def test_rows_are_sorted_by_user_then_item(small: Ratings) -> None:
    assert list(small.users) == ["ann", "bob"]
    assert list(small.items) == ["Hilton", "Ritz"]
    assert small.user_pointer.tolist() == [0, 2, 3]
    assert small.item_codes.tolist() == [0, 1, 1]
    assert small.user_codes.tolist() == [0, 0, 1]
    assert small.timestamps is not None
    assert small.timestamps.tolist() == [20, 10, 30]


def test_views_by_user_and_by_item_show_the_same_ratings(small: Ratings) -> None:
    items, values = small.of_user("ann")
    assert items.tolist() == [0, 1]
    np.testing.assert_array_equal(values, np.float32([[3, NAN], [5, 4]]))
    users, values = small.of_item("Ritz")
    assert users.tolist() == [0, 1]
    np.testing.assert_array_equal(values, np.float32([[5, 4], [4, 4]]))


def test_view_of_a_user_does_not_copy(small: Ratings) -> None:
    assert np.shares_memory(small.of_user("ann").values, small.values)


def test_nothing_can_be_changed(small: Ratings) -> None:
    with pytest.raises(ValueError, match="read-only"):
        small.values[0, 0] = 1
    with pytest.raises(AttributeError):
        small.aspects = ("overall",)  # type: ignore[misc]


def test_repr_tells_the_sizes(small: Ratings) -> None:
    assert repr(small) == (
        "Ratings(2 users × 2 items × 2 aspects, 3 rating vectors, 16.7 % of aspect ratings missing)"
    )


def test_scale_is_observed_unless_declared(small: Ratings) -> None:
    assert small.scale.tolist() == [[3, 5], [4, 4]]
    declared = Ratings.from_arrays(["a"], ["b"], [[3, 4]], aspects=["x", "y"], scale={"x": (1, 20)})
    assert declared.scale.tolist() == [[1, 20], [4, 4]]


def test_an_aspect_that_nobody_rated_has_no_scale() -> None:
    ratings = Ratings.from_arrays(["a"], ["b"], [[3, NAN]], aspects=["x", "y"])
    assert np.isnan(ratings.scale[1]).all()


@given(any_ratings(min_rows=2), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(ratings: Ratings, random) -> None:
    table = ratings.to_polars()
    order = list(range(len(table)))
    random.shuffle(order)
    shuffled = table[order]
    again = Ratings.from_arrays(
        shuffled["user"],
        shuffled["item"],
        shuffled.select(ratings.aspects).to_numpy(),
        aspects=ratings.aspects,
        timestamps=None if ratings.timestamps is None else shuffled["timestamp"].to_numpy(),
    )
    assert again == ratings


@given(any_ratings(), any_ratings())
def test_equality_is_equality_of_content(one: Ratings, other: Ratings) -> None:
    assert one == one.select(np.arange(len(one)))
    same_table = one.to_polars().equals(other.to_polars())
    assert (one == other) == same_table


def test_ratings_differ_when_one_value_differs(small: Ratings) -> None:
    table = small.to_polars()
    other = Ratings.from_arrays(
        table["user"], table["item"], [[3, 3], [5, 4], [4, 4]],
        aspects=small.aspects, timestamps=table["timestamp"].to_numpy(),
    )  # fmt: skip
    assert small != other
    assert small != "small"


def test_a_repeated_pair_keeps_the_latest_by_timestamp() -> None:
    ratings = Ratings.from_arrays(
        ["a", "a", "a", "b"], ["x"] * 4, [[1], [2], [3], [4]], aspects=["r"],
        timestamps=[5, 9, 7, 1],
    )  # fmt: skip
    assert ratings.values.tolist() == [[2], [4]]


def test_a_repeated_pair_without_timestamp_keeps_the_last_row() -> None:
    ratings = Ratings.from_arrays(["a", "a", "a"], ["x", "y", "x"], [[1], [2], [3]], aspects=["r"])
    assert ratings.values.tolist() == [[3], [2]]


def test_select_keeps_the_codes_and_compact_drops_unused_ids(small: Ratings) -> None:
    part = small.select(np.array([2]))
    assert part.users == small.users
    assert part.of_user("bob").values.tolist() == [[4, 4]]
    assert len(part.of_user("ann").codes) == 0
    compact = part.compact()
    assert list(compact.users) == ["bob"]
    assert list(compact.items) == ["Ritz"]
    assert compact.of_user("bob").codes.tolist() == [0]


@given(any_ratings(), st.data())
def test_compact_changes_no_rating(ratings: Ratings, data: st.DataObject) -> None:
    rows = data.draw(st.sets(st.integers(0, len(ratings) - 1), min_size=1))
    part = ratings.select(np.array(sorted(rows)))
    assert part.compact().to_polars().equals(part.to_polars())


def test_unknown_names_are_typed_errors_with_the_nearest_known(small: Ratings) -> None:
    with pytest.raises(UnknownUserError, match="user 'anne' is not in .* did you mean 'ann'"):
        small.of_user("anne")
    with pytest.raises(UnknownItemError, match="did you mean 'Hilton'"):
        small.of_item("Hiltn")
    with pytest.raises(UnknownAspectError, match="did you mean 'service'"):
        small.aspect("servise")
    with pytest.raises(UnknownUserError, match="ids are strings, try '7'"):
        small.of_user(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("aspects", "reason"),
    [
        ([], "no aspect"),
        ([""], "empty name"),
        (["user"], "cannot be named 'user'"),
        (["a", "a"], "named twice"),
    ],
)
def test_bad_aspect_names_are_refused(aspects: list[str], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        Ratings.from_arrays(["u"], ["i"], np.ones((1, len(aspects))), aspects=aspects)


def test_infinite_ratings_are_refused() -> None:
    with pytest.raises(DataError, match="infinite"):
        Ratings.from_arrays(["u"], ["i"], [[np.inf]], aspects=["r"])


def test_primary_aspect_is_overall_or_the_first() -> None:
    def primary(*aspects: str) -> str:
        return Ratings.from_arrays(
            ["u"], ["i"], np.ones((1, len(aspects))), aspects=aspects
        ).primary_aspect

    assert primary("value", "overall") == "overall"
    assert primary("value", "service") == "value"


def test_unknown_timestamps_become_null_in_the_table(small: Ratings) -> None:
    table = pl.DataFrame({"user": ["a"], "item": ["b"], "r": [1.0], "timestamp": [None]})
    from dmrank import read_ratings

    ratings = read_ratings(table.with_columns(pl.col("timestamp").cast(pl.Int64)), verbose=False)
    assert ratings.to_polars()["timestamp"].to_list() == [None]


def test_arrays_of_unequal_lengths_are_refused() -> None:
    def make(users=("a", "b"), items=("x", "y"), values=((1,), (2,)), **options: object) -> None:
        Ratings.from_arrays(users, items, values, aspects=["r"], **options)

    with pytest.raises(DataError, match="there are 1 users, 2 items, 2 values: give one of each"):
        make(users=["a"])
    with pytest.raises(DataError, match="2 values, 1 timestamps"):
        make(timestamps=[1])
    with pytest.raises(DataError, match=r"the shape \(2, 2\): give one row per rating vector"):
        make(values=[[1, 2], [3, 4]])
    with pytest.raises(DataError, match="not numbers"):
        make(values=[["good"], ["bad"]])


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["a", 1], r"user ids are of several types \(int, str\)"),
        ([1.0, 2.0], "user id 1.0 is no id: ids are strings or whole numbers"),
        (np.array([1.0, np.nan]), "user id .*1.0.* is no id"),
        (["a", NAN], "several types"),
        ([-1, 2**63], "user ids from -1 to 9223372036854775808 do not fit"),
        ([1, 2**64], "user ids from 1 to 18446744073709551616 do not fit"),
    ],
)
def test_ids_that_are_neither_strings_nor_whole_numbers_are_refused(ids, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Ratings.from_arrays(ids, ["x", "y"], [[1], [2]], aspects=["r"])


@pytest.mark.parametrize("k", [float("nan"), 2.5, "5", None])
def test_a_core_needs_a_whole_number(small: Ratings, k: object) -> None:
    with pytest.raises(ConfigError, match="is not a whole number: give one, such as 5"):
        small.k_core(k)
