"""Ids are what the user has: strings come out as strings, whole numbers as whole numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dmrank
from dmrank import DataError, Ratings, UnknownItemError, UnknownUserError, read_ratings
from dmrank.data.ids import Ids
from dmrank.data.reading.read import join_parts
from tests.strategies import id_columns


def _ratings(users: list, items: list) -> Ratings:
    return Ratings.from_arrays(users, items, [[5]] * len(users), aspects=["r"])


def _same(found: object, expected: list) -> bool:
    """Return whether ids are equal, and of the same type."""
    names = list(found)
    return sorted(names) == sorted(expected) and {type(n) for n in names} == {
        type(n) for n in expected
    }


@given(users=id_columns)
def test_ids_of_any_type_come_out_as_they_went_in(users: list) -> None:
    ids = Ids(users, kind="user")
    assert _same(ids, users)
    assert [ids.code(name) for name in ids] == list(range(len(users)))
    assert ids.codes(users).tolist() == [ids.code(name) for name in users]
    assert ids.names(ids.codes(users)).to_list() == users
    assert all(name in ids for name in users)
    assert [ids[code] for code in range(len(ids))] == list(ids) == ids[:].to_list()


@given(users=id_columns, items=id_columns)
def test_files_of_types_keep_the_type(tmp_path_factory, users: list, items: list) -> None:
    rows = [(user, item) for user in users for item in items]
    ratings = _ratings([user for user, _ in rows], [item for _, item in rows])
    path = ratings.write(tmp_path_factory.mktemp("ids") / "r.parquet")
    assert read_ratings(path, verbose=False) == ratings
    assert read_ratings(ratings.to_polars(), verbose=False) == ratings
    assert _same(ratings.to_polars()["user"].unique(), users)
    assert _same(ratings.k_core(1).split().train.items, items)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_text_files_have_text(tmp_path: Path, ending: str) -> None:
    path = _ratings([12, 7], [1, 2]).write(tmp_path / f"r.{ending}")
    assert list(read_ratings(path, verbose=False).users) == ["12", "7"]


@pytest.mark.parametrize(
    "users",
    [
        np.array([12, 7], dtype=np.int16),
        np.array([12, 7], dtype=object),
        pd.Series([12, 7], dtype="Int64"),
        pl.Series([12, 7], dtype=pl.UInt8),
        [np.int64(12), np.int64(7)],
    ],
)
def test_whole_numbers_of_every_library_are_whole_numbers(users) -> None:
    assert list(_ratings(users, ["x", "y"]).users) == [12, 7]  # in the order of text


def test_whole_numbers_are_found_by_number_and_by_text() -> None:
    ids = Ids([12, 7], kind="user")
    for name in (7, np.int32(7), "7"):
        assert ids.code(name) == ids.find(name) == 1
        assert name in ids
    assert ids.codes(np.array([7, 12])).tolist() == ids.codes(["7", 12]).tolist() == [1, 0]
    assert ids.find(99) == -1
    for odd in (True, 7.0, "07", None, [7]):
        assert odd not in ids
    assert "12" in Ids(["12"], kind="user")
    assert 12 not in Ids(["12"], kind="user")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (99, "user 99 is not in the ratings; known: 12, 7"),
        ("99", "user '99' is not in the ratings; known: 12, 7"),
        ("ann", "user 'ann' is no whole number: user ids are whole numbers, such as 12"),
        (True, "user True is no whole number"),
        (7.0, "user 7.0 is no whole number"),
        ([7], r"user \[7\] is no whole number"),
    ],
)
def test_what_is_no_known_number_is_said(name: object, said: str) -> None:
    ids = Ids([12, 7], kind="user")
    for ask in (ids.code, lambda name: ids.codes([name])):
        with pytest.raises(UnknownUserError, match=said):
            ask(name)


def test_a_number_is_no_string() -> None:
    with pytest.raises(UnknownItemError, match="item 7 is not a string: ids are strings, try '7'"):
        Ids(["7"], kind="item").code(7)


def test_parts_of_ids_are_taken_by_slices_positions_and_masks() -> None:
    ids = Ids(["a", "b", "c"], kind="user")
    assert ids[:2].to_list() == ids[[0, 1]].to_list() == ["a", "b"]
    assert ids[np.array([True, False, True])].to_list() == ids[::2].to_list() == ["a", "c"]
    assert ids[pl.Series([False, False, True])].to_list() == [ids[-1]] == ["c"]
    assert ids[[]].to_list() == []


@pytest.mark.parametrize(
    ("which", "said"),
    [
        (3, "there is no number 3 among 3 users"),
        ([0, -4], "there is no number -4 among 3 users"),
        ([True], "a mask of 1 for 3 users: give one truth value for each"),
        ([0.5], "does not say which users: give a slice, a mask of truth values, or whole numbers"),
        ("a", "'a' does not say which users"),
        (True, "True does not say which users"),
        (None, "None does not say which users"),
        (pl.Series([True, None, False]), "does not say which users"),
        (np.ones((3, 3), dtype=bool), "does not say which users"),
        (slice("a"), "is no slice of users"),
    ],
)
def test_other_parts_are_refused_in_one_line(which: object, said: str) -> None:
    with pytest.raises(DataError, match=said) as raised:
        Ids(["a", "b", "c"], kind="user")[which]
    assert "\n" not in str(raised.value)


def test_parts_of_a_split_have_the_type_of_its_training_part() -> None:
    numbers, texts, words = (
        _ratings(users, ["x", "y"]) for users in ([1, 2], ["2", "3"], ["a", "b"])
    )
    split = join_parts(numbers, texts, numbers)
    assert list(split.test.users) == list(split.train.users) == [1, 2, 3]
    assert list(join_parts(words, numbers, texts).train.users) == ["1", "2", "3", "a", "b"]
    with pytest.raises(DataError, match="user id 'a' is no whole number"):
        join_parts(numbers, words, texts)


def test_tables_merge_with_the_users_own() -> None:
    people = pd.DataFrame({"user": [7, 12], "town": ["Ulm", "Jena"]})
    frame = pd.DataFrame({"user": [7, 7, 12], "item": [1, 2, 2], "overall": [5, 3, 4]})
    model = dmrank.ItemMean().fit(read_ratings(frame, verbose=False))
    lists = model.recommend([12, 7], exclude_seen=False).to_pandas()
    assert lists.merge(people, on="user")["town"].unique().tolist() == ["Jena", "Ulm"]


@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, unique=True), st.data())
def test_many_ids_are_found_without_a_dictionary(names: list[str], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dmrank.data.ids._MANY", 0)
        searched, looked_up = (Ids(names, kind="user") for _ in range(2))
        asked = data.draw(st.lists(st.sampled_from(names) | st.text(min_size=1, max_size=4)))
        expected = [looked_up.find(name) for name in asked]
        assert searched.find_many(asked).tolist() == expected
        assert "_code_of" not in vars(searched)
        if -1 in expected:
            with pytest.raises(UnknownUserError, match="is not in the ratings"):
                searched.codes(asked)
        else:
            assert searched.codes(asked).tolist() == expected
        others = Ids(set(asked) | {"one more"}, kind="user")
        assert searched.find_all(others).tolist() == [looked_up.find(name) for name in others]


def test_ids_that_were_added_later_are_found_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmrank.data.ids._MANY", 0)
    older = Ids(["b", "d"], kind="user")
    extended = older.extended(["c", "a"])
    assert extended.find_many(["a", "b", "c", "d", "e"]).tolist() == [3, 0, 2, 1, -1]
    again = extended.extended(["e"])
    assert [again.find(name) for name in "abcdef"] == [3, 0, 2, 1, 4, -1]
    # Of millions of ids, none needs a dictionary to become one more.
    assert "_code_of" not in vars(older)


@pytest.mark.parametrize("many", [0, 1 << 16])
def test_an_id_is_not_added_twice(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmrank.data.ids._MANY", many)
    older = Ids(["b", "d"], kind="user")
    for names in (["d"], ["c", "c"]):
        with pytest.raises(DataError, match="user ids are repeated"):
            older.extended(names)
    with pytest.raises(DataError, match="user ids are repeated"):
        older.extended(["c"]).extended(["c"])
