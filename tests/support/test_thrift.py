"""Thrift's compact protocol: structs are read, and what is none is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.support.thrift import CompactReader, ThriftError


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _zigzag(value: int) -> bytes:
    return _varint(2 * value if value >= 0 else -2 * value - 1)


def _written(value: object) -> tuple[int, bytes]:
    """Return the type of a value and its bytes, as the protocol's specification has them."""
    if isinstance(value, bool):
        return (1 if value else 2), b""
    if isinstance(value, int):
        return 6, _zigzag(value)
    if isinstance(value, bytes):
        return 8, _varint(len(value)) + value
    if isinstance(value, list):
        head = bytes([len(value) << 4 | 6]) if len(value) < 15 else b"\xf6" + _varint(len(value))
        return 9, head + b"".join(_zigzag(each) for each in value)
    assert isinstance(value, dict)
    fields, last = b"", 0
    for number, each in sorted(value.items()):
        kind, data = _written(each)
        step = number - last
        fields += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + _zigzag(number)
        fields, last = fields + data, number
    return 12, fields + b"\0"


_INTEGERS = st.integers(-(2**63), 2**63 - 1)
_PLAIN = st.booleans() | _INTEGERS | st.binary(max_size=40) | st.lists(_INTEGERS, max_size=20)
_STRUCTS = st.recursive(
    st.dictionaries(st.integers(1, 200), _PLAIN, max_size=5),
    lambda inner: st.dictionaries(st.integers(1, 40), inner | _PLAIN, max_size=4),
)


@given(_STRUCTS, st.binary(max_size=3))
def test_a_written_struct_is_read(fields: dict[int, object], after: bytes) -> None:
    data = _written(fields)[1]
    reader = CompactReader(b"xy" + data + after, at=2)
    assert reader.struct() == fields
    assert reader.at == 2 + len(data)


@given(st.binary(max_size=60))
def test_other_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(ThriftError):
        assert isinstance(CompactReader(data).struct(), dict)


@pytest.mark.parametrize("data", [b"", b"\x15", b"\x19\xf6\xff\xff\x7f", b"\x1c" * 99, b"\x1d"])
def test_what_ends_early_or_never_is_refused(data: bytes) -> None:
    with pytest.raises(ThriftError):
        CompactReader(data).struct()
