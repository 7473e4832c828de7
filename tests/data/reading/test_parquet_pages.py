"""Parquet files that contradict themselves are refused; whole ones are described as they are."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import DataError, read_ratings
from dmrank.data.reading.parquet_pages import _part, _Writer, check_pages

ROWS = 60


def _ratings(seed: int = 0) -> pa.Table:
    chance = np.random.default_rng(seed)
    stars = [None if star == 0 else int(star) for star in chance.integers(0, 6, ROWS)]
    return pa.table(
        {
            "user": [f"u{n}" for n in range(ROWS)],
            "item": pa.array(chance.integers(0, 9, ROWS), pa.int64()),
            "overall": pa.array(stars, pa.int8()),
            "service": pa.array(chance.uniform(1, 5, ROWS), pa.float64()),
            "timestamp": pa.array(chance.integers(0, 2**40, ROWS), pa.int64()),
        }
    )


def _write(folder: Path, **options: object) -> Path:
    path = folder / "r.parquet"
    pq.write_table(_ratings(), path, **options)
    return path


def _footer(data: bytes | bytearray) -> int:
    """Return where the footer of a file begins."""
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def _read(path: Path) -> pl.DataFrame:
    return read_ratings(path, verbose=False).to_polars()


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("rows", [7, 1_000])
def test_a_whole_file_is_described_as_pyarrow_does(
    tmp_path: Path, codec: str, version: str, rows: int
) -> None:
    path = _write(
        tmp_path,
        compression=codec,
        data_page_version=version,
        row_group_size=rows,
        data_page_size=50,
        write_page_checksum=True,
    )
    groups, meta = check_pages(path), pq.read_metadata(path)
    assert len(groups) == meta.num_row_groups
    for n, group in enumerate(groups):
        said = meta.row_group(n)
        columns = [said.column(k) for k in range(said.num_columns)]
        assert group.rows == said.num_rows
        assert {name: part.nulls for name, part in group.columns.items()} == {
            column.path_in_schema: column.statistics.null_count for column in columns
        }


def test_files_of_other_writers_are_read(tmp_path: Path) -> None:
    table, path = pl.DataFrame(_ratings()), tmp_path / "r.parquet"
    for codec in ("zstd", "snappy", "gzip", "uncompressed", "lz4"):
        table.write_parquet(path, compression=codec, row_group_size=13, data_page_size=40)
        assert len(_read(path)) == ROWS
    table.write_parquet(path, statistics=False)
    assert len(_read(path)) == ROWS
    nested = table.with_columns(pl.lit([[1, 2]]).alias("tags"))
    nested.write_parquet(path)
    assert len(_read(path)) == ROWS


@pytest.mark.parametrize("codec", ["gzip", "snappy"])
def test_bytes_that_do_not_fit_their_checksum_are_refused(tmp_path: Path, codec: str) -> None:
    path = _write(tmp_path, compression=codec, write_page_checksum=codec == "snappy")
    start = pq.read_metadata(path).row_group(0).column(3).data_page_offset
    data = bytearray(path.read_bytes())
    data[start + 120] ^= 4
    path.write_bytes(data)
    with pytest.raises(DataError, match="column 'service' (does not fit|cannot be decompressed)"):
        _read(path)


@pytest.mark.parametrize(
    ("writer", "nulls"), [(b"Polars", None), (b"Polars (python) version 2.1.0", 6), (b"", 6)]
)
def test_nulls_that_polars_counted_once_per_page_are_not_believed(
    writer: bytes, nulls: int | None
) -> None:
    column = {1: 5, 12: {3: 6}}  # doubles, of which six are null
    assert _part(column, _Writer.from_name(writer)).nulls == nulls


@pytest.mark.parametrize("statistics", [{3: True}, {3: b"6"}, {5: True, 6: b""}, {5: b"", 6: 4}])
def test_statistics_of_another_kind_are_not_taken(statistics: dict[int, object]) -> None:
    with pytest.raises(TypeError):  # which `check_pages` calls damage
        _part({1: 5, 12: statistics}, _Writer.from_name(b""))


def test_values_other_than_the_file_says_are_refused(tmp_path: Path) -> None:
    # In the middle: what is said of the other parts of the file does not cover it up.
    path = _write(tmp_path, compression="none", use_dictionary=False, row_group_size=20)
    data, column = path.read_bytes(), pq.read_metadata(path).row_group(1).column(3)
    least = np.float64(_ratings()["service"].to_numpy()[20:40].min())
    end = column.data_page_offset + column.total_compressed_size
    place = data.rindex(least.tobytes(), 0, end)  # the statistics come before the values
    path.write_bytes(data[:place] + np.float64(least + 0.01).tobytes() + data[place + 8 :])
    with pytest.raises(DataError, match="column 'service' has other values than the file says"):
        _read(path)


def test_damaged_types_of_arrow_are_refused(tmp_path: Path) -> None:
    path = _write(tmp_path)
    data = path.read_bytes()
    place = data.index(b"ARROW:schema") + 100
    path.write_bytes(data[:place] + bytes(8) + data[place + 8 :])
    with pytest.raises(DataError, match="its description of types cannot be read"):
        _read(path)


def test_a_column_of_another_name_than_the_schema_has_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path)
    data = path.read_bytes()
    place = data.rindex(b"service", 0, data.index(b"ARROW:schema"))
    path.write_bytes(data[:place] + b"servicu" + data[place + 7 :])
    with pytest.raises(DataError, match="other columns than it says"):
        _read(path)


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_changes_nothing_or_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: float, bit: int
) -> None:
    path = _write(tmp_path_factory.mktemp("flip"), write_page_checksum=True, store_schema=False)
    whole = _read(path)
    data = bytearray(path.read_bytes())
    # Of the pages: in the footer, names and types may become others.
    data[4 + int(place * (_footer(data) - 4))] ^= 1 << bit
    path.write_bytes(data)
    with suppress(DataError):
        assert _read(path).equals(whole)
