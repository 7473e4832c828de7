"""Files with one review per line, in blocks that know their line numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import polars as pl

from dmrank.datasets.corpus import Raw

#: Bytes that are read and converted at a time; what is in memory is a small multiple of it.
BLOCK_BYTES = 1 << 24
#: A longer line is no review: the file has some other format.
LONGEST_LINE = 1 << 26

Record = dict[str, Any]
Schema = Mapping[str, pl.DataType | type[pl.DataType]]


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file."""

    raw: Raw
    member: str
    first_line: int
    data: bytes

    def place(self, row: int) -> str:
        """Return where row `row` of the block is; blank lines are no rows."""
        number, _ = next(itertools.islice(self._numbered_lines(), row, None))
        return self._at(number)

    def from_json(self, schema: Schema, expected: str) -> pl.DataFrame:
        """Parse the lines as JSON objects; keys that are not in the schema are skipped."""
        try:
            return pl.read_ndjson(self.data, schema=dict(schema))
        except pl.exceptions.PolarsError as error:
            bad_block = error
        for number, line in self._numbered_lines():
            try:
                pl.read_ndjson(line, schema=dict(schema))
            except pl.exceptions.PolarsError as error:
                found = f"{_shorten(line)} ({str(error).splitlines()[0]})"
                raise self.raw.refuse(self._at(number), found, expected) from None
        raise self.raw.refuse(f"from {self._at(self.first_line)}", str(bad_block), expected)

    def parsed(self, parse: Callable[[str], Record], expected: str) -> list[Record]:
        """Parse line by line with a function that raises ValueError on a bad one."""
        records = []
        for number, line in self._numbered_lines():
            try:
                records.append(parse(line.decode()))
            except ValueError:
                raise self.raw.refuse(self._at(number), _shorten(line), expected) from None
        return records

    def _numbered_lines(self) -> Iterator[tuple[int, bytes]]:
        for number, line in enumerate(self.data.split(b"\n"), start=self.first_line):
            if line.strip():
                yield number, line

    def _at(self, number: int) -> str:
        return f"{self.member}, line {number:,}" if self.member else f"line {number:,}"


def blocks(raw: Raw, member: str, stream: IO[bytes]) -> Iterator[Block]:
    """Cut a stream into blocks of whole lines."""
    rest, first_line = b"", 1
    while piece := stream.read(BLOCK_BYTES):
        end = piece.rfind(b"\n") + 1
        if end:
            block = Block(raw, member, first_line, rest + piece[:end])
            yield block
            first_line += block.data.count(b"\n")
            rest = b""
        rest += piece[end:]
        if len(rest) > LONGEST_LINE:
            found = f"{_shorten(rest[:200])} is longer than {LONGEST_LINE >> 20} MB"
            raise raw.refuse(f"line {first_line:,}", found, "one review per line")
    if rest:
        yield Block(raw, member, first_line, rest)


def _shorten(line: bytes) -> str:
    text = line.strip().decode(errors="replace")
    return repr(text if len(text) <= 60 else text[:60] + "…")
