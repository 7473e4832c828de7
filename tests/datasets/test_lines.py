from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.datasets import lines
from dmrank.datasets.corpus import Raw
from dmrank.datasets.lines import Block, blocks
from dmrank.support.errors import DataError

RAW = Raw(Path("reviews.json"))


def cut(data: bytes, size: int) -> list[Block]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", size)
        return list(blocks(RAW, "", io.BytesIO(data)))


@given(
    st.lists(st.sampled_from([b"a", b"bb", b"ccc", b"", b" "])), st.integers(1, 9), st.booleans()
)
def test_blocks_are_the_whole_file_in_whole_lines(
    rows: list[bytes], size: int, final_newline: bool
) -> None:
    data = b"\n".join(rows) + b"\n" * final_newline
    found = cut(data, size)
    assert b"".join(block.data for block in found) == data
    assert all(block.data.endswith(b"\n") for block in found[:-1])


@given(st.lists(st.sampled_from(["{}", "", "  "]), min_size=1), st.integers(1, 9))
def test_every_row_knows_its_line(rows: list[str], size: int) -> None:
    places = [
        block.place(row)
        for block in cut("\n".join(rows).encode(), size)
        for row in range(sum(bool(line.strip()) for line in block.data.split(b"\n")))
    ]
    expected = [f"line {number}" for number, row in enumerate(rows, start=1) if row.strip()]
    assert places == expected


def test_json_keys_outside_the_schema_are_skipped_and_missing_ones_are_null() -> None:
    block = Block(RAW, "", 1, b'{"stars": 4, "useful": [1]}\n{}\n')
    assert block.from_json({"stars": pl.Float32}, "").to_dicts() == [
        {"stars": 4.0},
        {"stars": None},
    ]


@pytest.mark.parametrize(
    "bad", ["hello", "[1]", '{"stars": "four"}', '{"stars": 4', '{"s": "\xff"}']
)
def test_the_first_bad_line_is_named_with_what_was_expected(bad: str) -> None:
    rows = [json.dumps({"stars": 4})] * 20
    rows[12], rows[15] = bad, "also bad"
    data = "\n".join(rows).encode("latin1")
    with pytest.raises(DataError, match=r"^reviews\.json: line 13: .*; expected a star$") as error:
        [block.from_json({"stars": pl.Float32}, "a star") for block in cut(data, 100)]
    assert "\n" not in str(error.value)


def test_a_line_in_an_archive_is_named_with_its_file() -> None:
    with pytest.raises(DataError, match=r"^reviews\.json: data/review\.json, line 1: 'x'"):
        Block(RAW, "data/review.json", 1, b"x").from_json({"a": pl.String}, "")


def test_a_long_bad_line_is_shortened() -> None:
    with pytest.raises(DataError) as error:
        Block(RAW, "", 1, b"x" * 10_000).from_json({"a": pl.String}, "JSON")
    assert len(str(error.value)) < 300


def test_a_file_without_line_ends_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    with pytest.raises(DataError, match="line 1: .* is longer than 1 MB; expected one review per"):
        cut(b"[" * (3 << 20), 1 << 16)
