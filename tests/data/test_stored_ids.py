"""What a model file keeps of ids and names: every text comes back, and is found, as it was."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.data.ids import Ids
from dmrank.data.stored_ids import StoredIds

#: All that ASCII has: nothing is left to stand between texts.
EVERY_LETTER = "".join(map(chr, range(128)))
texts_given = st.lists(st.text(max_size=5), max_size=12)


@pytest.fixture(autouse=True, params=[2, 1 << 16])
def at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Look at a few texts at a time, and at many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dmrank.data.stored_ids._AT_ONCE", request.param)
        yield


def _stored(texts: list[str]) -> StoredIds:
    return StoredIds.of(pl.Series(texts, dtype=pl.String))


@given(texts_given, st.booleans())
def test_texts_come_back(texts: list[str], has_every_letter: bool) -> None:
    texts = [*texts, EVERY_LETTER] if has_every_letter else texts
    stored = _stored(texts)
    assert stored.read().to_list() == texts
    places = np.arange(len(texts))[::-2]
    assert stored.some(places).to_list() == texts[::-2]
    assert stored.equals(pl.Series(texts, dtype=pl.String))
    assert not stored.equals(pl.Series([*texts, "more"]))
    assert not texts or not stored.equals(pl.Series([*texts[:-1], texts[-1] + "!"]))


@given(texts_given)
def test_only_texts_that_rise_are_ascending(texts: list[str]) -> None:
    assert _stored(texts).are_ascending() == (texts == sorted(set(texts)))
    assert _stored(sorted(set(texts))).are_ascending()


@given(st.sets(st.text(min_size=1, max_size=4), min_size=1), texts_given)
def test_a_search_finds_what_is_there(there: set[str], others: list[str]) -> None:
    ordered = sorted(there)
    asked = [*others, *ordered]
    found = _stored(ordered).search(pl.Series(asked, dtype=pl.String)).tolist()
    assert found == [ordered.index(text) if text in there else -1 for text in asked]


def test_what_is_cut_within_a_letter_is_no_text() -> None:
    stored = StoredIds(np.frombuffer("aéb".encode(), dtype=np.uint8), np.array([2, 4]))
    with pytest.raises(UnicodeDecodeError):
        stored.read()
    with pytest.raises(UnicodeDecodeError):
        stored.are_ascending()


def _later(names: list[str], *, is_in_order: bool) -> Ids:
    """Return ids of a file, of which it is a mistake to read all."""
    stored = _stored(names) if is_in_order else None
    return Ids.read_later(pytest.fail, lambda: stored, len(names), kind="user", type_="string")


def test_few_of_many_ids_are_found_without_reading_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dmrank.data.ids._MANY", 10)
    monkeypatch.setattr("dmrank.data.ids._PER_SEARCH", 1)
    names = [f"u{number:03}" for number in range(100)]
    ids, known = _later(names, is_in_order=True), Ids(names, kind="user")
    assert ids.find_many(["u007", "nobody"]).tolist() == [7, -1]
    assert ids.codes(["u099", "u000"]).tolist() == [99, 0]
    named = ids.names(np.array([3, 0]))
    assert (named.to_list(), named.name) == (["u003", "u000"], "user")
    assert ids == known
    assert ids.as_stored().read().to_list() == known.as_stored().read().to_list() == names
    assert known.first(99) != ids != Ids([*names[1:], "v"], kind="user")


@pytest.mark.parametrize(("asked", "is_in_order"), [(50, True), (1, False)])
def test_all_are_read_where_many_are_asked_for_or_the_file_is_in_no_order(
    asked: int, is_in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmrank.data.ids._MANY", 10)
    names = [f"u{number:03}" for number in range(100)]
    ids = _later(names, is_in_order=is_in_order)
    with pytest.raises(pytest.fail.Exception):
        ids.find_many(names[:asked])


def test_who_asks_again_and_again_reads_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmrank.data.ids._MANY", 10)
    monkeypatch.setattr("dmrank.data.ids._PER_SEARCH", 10)
    names = [f"u{number:03}" for number in range(100)]
    ids = _later(names, is_in_order=True)
    for _ in range(10):
        assert ids.find_many(["u007"]).tolist() == [7]
    with pytest.raises(pytest.fail.Exception):
        ids.find_many(["u007"])
