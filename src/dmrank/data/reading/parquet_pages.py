"""What a parquet file says of itself, checked before Polars reads it.

Polars takes sizes and counts of a damaged file at their word: it may ask for more memory than there
is, which ends the process, or hand out other rows than were written. So every page is looked at
first: its place, size and number of values have to fit those of its column, and its bytes its
checksum, where there is one.
"""

from __future__ import annotations

import binascii
import mmap
import struct
import zlib
from base64 import b64decode
from pathlib import Path
from types import NoneType
from typing import NamedTuple

from dmrank.data.reading.parquet_levels import count_present
from dmrank.support.thrift import CompactReader, Fields, ThriftError

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_PLAIN, _GZIP, _GZIP_WINDOW = 0, 2, 31
#: A column whose values may be null has levels: 1 where there is a value.
_OPTIONAL = 1
_BYTES, _BYTES_OF_ONE_LENGTH = 6, 7
#: Writes the least and the greatest text whole.
_KEEPS_TEXTS = b"parquet-cpp-arrow"
#: The name by which Polars calls itself before version 2, which has a number in it.
_MULTIPLIES_NULLS = b"Polars"
#: Types of pages, and the field of a page's header that says more about each.
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
_FIELD_OF_PAGE = {_DATA: 5, _INDEX: 6, _DICTIONARY: 7, _DATA_2: 8}
_ENCODINGS = range(10)


class DamagedError(ValueError):
    """A file that contradicts itself; says where."""


class ColumnPart(NamedTuple):
    """What the footer says of a column of one row group.

    Attributes
    ----------
    nulls : int or None
        How many values are null, if that is known.
    bounds : tuple of bytes, or None
        The least and the greatest value as they are stored, if they are known.
    in_bytes : bool
        Whether values are stored as bytes of one length each, not as numbers.
    """

    nulls: int | None
    bounds: tuple[bytes, bytes] | None
    in_bytes: bool


class RowGroup(NamedTuple):
    """Some rows of a file, and what the footer says of their columns that are not nested."""

    rows: int
    columns: dict[str, ColumnPart]


def check_pages(path: Path) -> list[RowGroup]:
    """Check the structure of a parquet file, and return what it says about its columns.

    Raises
    ------
    DamagedError
        If it contradicts itself.
    """
    if not path.stat().st_size:
        raise DamagedError("it is empty")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _described(data)
        except ThriftError as error:
            raise DamagedError(f"its description cannot be read ({error})") from None
        except (LookupError, TypeError, AttributeError, UnicodeDecodeError):
            raise DamagedError("its description lacks something") from None


def _described(data: mmap.mmap) -> list[RowGroup]:
    size = len(data)
    if size < len(_MAGIC) + _TAIL.size or data[: len(_MAGIC)] != _MAGIC:
        raise DamagedError("it does not begin like one")
    length, magic = _TAIL.unpack(data[size - _TAIL.size :])
    end = size - _TAIL.size - length
    if magic != _MAGIC or end < len(_MAGIC):
        raise DamagedError("it does not end like one")
    footer = CompactReader(data[end : size - _TAIL.size]).struct()
    _check_arrow_schema(footer.get(5, []))
    leaves = _leaves(footer[2])
    writer = _Writer.from_name(footer.get(6, b""))
    groups = [_row_group(data, group, leaves, end, writer) for group in footer.get(4, [])]
    rows = sum(group.rows for group in groups)
    if rows != footer[3]:
        raise DamagedError(f"it has {footer[3]:,} rows, and {rows:,} in its parts")
    return groups


def _check_arrow_schema(metadata: list[Fields]) -> None:
    """Refuse types of Arrow that are no text of 64 letters: without, a duration is a number."""
    for entry in metadata:
        if entry[1] == b"ARROW:schema":
            try:
                b64decode(entry[2], validate=True)
            except binascii.Error:
                raise DamagedError("its description of types cannot be read") from None


class _Writer(NamedTuple):
    """What the statistics of a program are worth.

    Attributes
    ----------
    keeps_texts
        Whether the least and the greatest text are there as they are: many keep the first letters.
    counts_nulls
        Whether nulls are counted right: before version 2, Polars multiplied them by the pages.
    """

    keeps_texts: bool
    counts_nulls: bool

    @classmethod
    def from_name(cls, name: bytes) -> _Writer:
        return cls(name.startswith(_KEEPS_TEXTS), name != _MULTIPLIES_NULLS)


class _Leaf(NamedTuple):
    """A column: its path, its type, and whether its values may be null."""

    path: list[bytes]
    type: int
    is_optional: bool


def _leaves(schema: list[Fields]) -> list[_Leaf]:
    """Return the columns of a schema, which is a tree, parents before children."""
    left, path, leaves = [schema[0][5]], [b""], []
    for element in schema[1:]:
        while not left[-1]:
            left.pop()
            path.pop()
        left[-1] -= 1
        if element.get(5):
            left.append(element[5])
            path.append(element[4])
        else:
            leaves.append(_Leaf([*path[1:], element[4]], element[1], element.get(3) == _OPTIONAL))
    return leaves


def _row_group(
    data: mmap.mmap, group: Fields, leaves: list[_Leaf], end: int, writer: _Writer
) -> RowGroup:
    found = RowGroup(group[3], {})
    if [(chunk[3][3], chunk[3][1]) for chunk in group[1]] != [leaf[:2] for leaf in leaves]:
        raise DamagedError("its parts have other columns than it says")
    for chunk, leaf in zip(group[1], leaves, strict=True):
        meta = chunk[3]
        path = [name.decode() for name in meta[3]]
        name = ".".join(path)
        if len(path) == 1:
            if meta[5] != found.rows:
                raise DamagedError(f"column {name!r} has {meta[5]:,} values in {found.rows:,} rows")
            found.columns[name] = _part(meta, writer)
        _check_chunk(data, meta, name, end, has_levels=len(path) == 1 and leaf.is_optional)
    return found


def _part(meta: Fields, writer: _Writer) -> ColumnPart:
    statistics = meta.get(12, {})
    is_exact = writer.keeps_texts or meta[1] != _BYTES
    exact = statistics.get(7, is_exact) and statistics.get(8, is_exact)
    bounds = (statistics[6], statistics[5]) if exact and {5, 6} <= statistics.keys() else None
    nulls = statistics.get(3) if writer.counts_nulls else None
    if type(nulls) not in (int, NoneType) or any(
        type(bound) is not bytes for bound in bounds or ()
    ):
        raise TypeError
    return ColumnPart(nulls, bounds, meta[1] == _BYTES_OF_ONE_LENGTH)


def _check_chunk(data: mmap.mmap, meta: Fields, name: str, end: int, *, has_levels: bool) -> None:
    """Look at pages until they have all values of the column, as readers do."""
    at, values = min(meta[9], meta.get(11) or meta[9]), 0
    while values < meta[5]:
        if not len(_MAGIC) <= at < end:
            raise DamagedError(f"column {name!r} is not where it should be")
        reader = CompactReader(data, at)
        page = _Page.from_header(reader.struct())
        body, at = reader.at, reader.at + page.stored
        if not (page.is_possible and body <= at <= end and 0 <= page.unpacked <= meta[6]):
            raise DamagedError(f"column {name!r} has a page that cannot be")
        values += page.values
        if page.checksum is not None and zlib.crc32(data[body:at]) != page.checksum:
            raise DamagedError(f"column {name!r} does not fit its checksum")
        content = _content(data, body, page, meta[4], name)
        if has_levels and page.values and not page.has_levels_in(content):
            raise DamagedError(f"column {name!r} has values where there are none")
    if values != meta[5]:
        raise DamagedError(f"column {name!r} has {values:,} values in its pages, not {meta[5]:,}")


class _Page(NamedTuple):
    """What the header of a page says.

    `levels` are bytes before what is packed; None: they are packed with it, their length first.
    """

    values: int
    nulls: int | None
    encoding: int
    stored: int
    unpacked: int
    levels: int | None
    is_packed: bool
    checksum: int | None

    @classmethod
    def from_header(cls, header: Fields) -> _Page:
        kind = header[1]
        if kind not in _FIELD_OF_PAGE:
            raise DamagedError(f"it has a page of type {kind}")
        more = header[_FIELD_OF_PAGE[kind]]
        second = kind == _DATA_2
        return cls(
            values=more[1] if kind in (_DATA, _DATA_2) else 0,
            nulls=more[2] if second else None,
            encoding=0 if kind == _INDEX else more[4 if second else 2],
            stored=header[3],
            unpacked=header[2],
            levels=more[5] + more[6] if second else None,
            is_packed=more.get(7, True) if second else True,
            checksum=header[4] & 0xFFFFFFFF if 4 in header else None,
        )

    @property
    def is_possible(self) -> bool:
        fits = 0 <= (self.levels or 0) <= self.stored
        return self.values >= 0 and self.encoding in _ENCODINGS and fits

    def has_levels_in(self, content: bytes | None) -> bool:
        """Return whether the levels before the values are those of so many, as far as one sees."""
        if content is None:
            return True
        start, length = 0, self.levels
        if length is None:
            start, length = 4, int.from_bytes(content[:4], "little")
        present = count_present(content[start : start + length], self.values)
        return present is not None and self.nulls in (None, self.values - present)


def _content(data: mmap.mmap, body: int, page: _Page, codec: int, name: str) -> bytes | None:
    """Return a page as it begins before it is packed, None if that takes another library."""
    end, levels = body + page.stored, page.levels or 0
    is_packed = page.is_packed and codec != _PLAIN
    unpacked = b""
    if is_packed and codec == _GZIP:
        unpacked = _check_gzip(data[body + levels : end], page.unpacked - levels, name)
    if page.levels is not None:
        return data[body : body + levels]
    if not is_packed:
        return data[body:end]
    return unpacked if codec == _GZIP else None


def _check_gzip(body: bytes, size: int, name: str) -> bytes:
    unpacking = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = unpacking.decompress(body, max(size, 1))
        # Nothing is left but the checksum, which is looked at in passing.
        unpacked += unpacking.decompress(unpacking.unconsumed_tail, 1)
    except zlib.error as error:
        raise DamagedError(f"column {name!r} cannot be decompressed ({error})") from None
    if len(unpacked) != size or not unpacking.eof:
        raise DamagedError(f"column {name!r} has a page of another size than it says")
    return unpacked
