"""Reads structs of Thrift's compact protocol, in which parquet files describe themselves."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from typing import Any, Final

#: A struct by the numbers of its fields.
Fields = dict[int, Any]

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY = 0, 1, 2, 3, 7, 8
_LIST, _SET, _MAP, _STRUCT = 9, 10, 11, 12
_INTEGERS: Final = (4, 5, 6)
_LONG_LIST = 15
_DEEPEST = 32
_VARINT_BITS = 64


class ThriftError(ValueError):
    """Bytes that are no struct."""


class CompactReader:
    """Reads what stands at a place in a buffer.

    Parameters
    ----------
    data
        The bytes.
    at
        Where to start; afterwards, where the next thing begins.

    Examples
    --------
    >>> CompactReader(bytes([0x15, 0x06, 0x18, 0x02, 0x68, 0x69, 0x00])).struct()
    {1: 3, 2: b'hi'}
    """

    def __init__(self, data: bytes | mmap.mmap, at: int = 0) -> None:
        self._data = data
        self._end = len(data)
        self.at = at
        self._plain: dict[int, Callable[[], Any]] = {
            **dict.fromkeys((_TRUE, _FALSE, _BYTE), self._byte),
            **dict.fromkeys(_INTEGERS, self._integer),
            _DOUBLE: lambda: struct.unpack("<d", self._take(8))[0],
            _BINARY: lambda: self._take(self._varint()),
        }
        self._nested: dict[int, Callable[[int], Any]] = {
            **dict.fromkeys((_LIST, _SET), self._list),
            _MAP: self._map,
            _STRUCT: self.struct,
        }

    def struct(self, depth: int = 0) -> Fields:
        """Read a struct; its fields have the types that the bytes say."""
        if depth > _DEEPEST:
            raise ThriftError("structs in structs in structs")
        fields: Fields = {}
        number = 0
        while (head := self._byte()) & 15 != _STOP:
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            if kind in (_TRUE, _FALSE):
                fields[number] = kind == _TRUE
            else:
                fields[number] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in self._plain:
            return self._plain[kind]()
        if kind in self._nested:
            return self._nested[kind](depth + 1)
        raise ThriftError(f"type {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4
        return self._repeat(
            self._varint() if size == _LONG_LIST else size,
            lambda: self._value(head & 15, depth),
        )

    def _map(self, depth: int) -> list[Any]:
        if not (size := self._varint()):
            return []
        head = self._byte()
        return self._repeat(
            size, lambda: (self._value(head >> 4, depth), self._value(head & 15, depth))
        )

    def _repeat(self, size: int, read: Callable[[], Any]) -> list[Any]:
        if size > self._end - self.at:
            raise ThriftError(f"a list of {size} in {self._end - self.at} bytes")
        return [read() for _ in range(size)]

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > _VARINT_BITS:
                raise ThriftError("an integer of more than 64 bits")
        return value | byte << shift

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        start, self.at = self.at, self.at + size
        if not 0 <= start <= self.at <= self._end:
            raise ThriftError("it ends too early")
        return self._data[start : self.at]
