"""Rows of csv text counted by its bytes, which finds quotes that would swallow rows.

Polars finds the ends of values and rows by whether the number of quotes before them is even. A
quote that stands where none may stand makes it join rows without a word, so that every file is
counted once by the rules of RFC 4180.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.data.reading.contents import UTF8_MARK
from dmrank.support.arrays import Int64s
from dmrank.support.errors import DataError

_QUOTE: Final = ord('"')
_NEWLINE: Final = ord("\n")
_RETURN: Final = ord("\r")
# Where a byte stands.
_FIELD_START: Final = 0
_PLAIN: Final = 1
_QUOTED: Final = 2
_AFTER_QUOTE: Final = 3
# What is remembered from block to block.
_STATE: Final = 0
_ROWS: Final = 1
_STRAY: Final = 2  # quotes of this row in values that are not quoted
_RETURNED: Final = 3  # whether the last byte was a carriage return outside of quotes
_BEGUN: Final = 4  # whether there is anything of a row after the last newline
_SEPARATORS: Final = 5
_WRONG: Final = 6
_WORDS: Final = 7

_REASONS: Final = {
    1: "a double quote stands where none may; quote the whole value and double the quotes inside "
    'it ("5"" tv"), or take it out',
    2: "a carriage return stands inside of it; end every row with a newline, or quote the value",
}
_QUOTE_WRONG: Final = 1
_RETURN_WRONG: Final = 2


class Counted(NamedTuple):
    """Rows of csv text, its header included, and separators between their values."""

    rows: int
    separators: int


def count_rows(name: str, blocks: Iterable[bytes], separator: str) -> Counted:
    r"""Count the rows of csv text, or raise at the first that is not sound.

    A row is not sound if a quoted value goes on after its closing quote, if a quote is never
    closed, if a value that is not quoted holds an odd number of quotes, or a carriage return.

    Examples
    --------
    >>> count_rows("r.csv", [b'user,note\nann,"one,\ntwo"\n', b'bob,"5"" tv"'], ",")
    Counted(rows=3, separators=3)
    """
    memory = np.zeros(_WORDS, dtype=np.int64)
    mark: bytes = UTF8_MARK
    for block in blocks:
        text = block.removeprefix(mark)
        mark = b""
        _take(memory, text, ord(separator))
        if memory[_WRONG]:
            break
    if not memory[_WRONG] and (memory[_STATE] == _QUOTED or memory[_STRAY] % 2):
        memory[_WRONG] = _QUOTE_WRONG
    if memory[_WRONG]:
        row = int(memory[_ROWS])
        place = f"row {row:,}" if row else "the header"
        raise DataError(f"{name}: {place}: {_REASONS[int(memory[_WRONG])]}")
    return Counted(int(memory[_ROWS] + memory[_BEGUN]), int(memory[_SEPARATORS]))


def _take(memory: Int64s, text: bytes, separator: int) -> None:
    array = np.frombuffer(text, dtype=np.uint8)
    if len(array) == 0:
        return
    going_on = memory[_STATE] >= _QUOTED or memory[_STRAY] or memory[_RETURNED]
    if going_on or b'"' in text or not _only_ends_lines(text):
        _follow(memory, array, separator)
        return
    # Without a quote every newline ends a row: ten times faster than byte by byte.
    last = array[-1]
    memory[_ROWS] += np.count_nonzero(array == _NEWLINE)
    memory[_SEPARATORS] += np.count_nonzero(array == separator)
    memory[_BEGUN] = last != _NEWLINE
    memory[_STATE] = _FIELD_START if last in (_NEWLINE, separator) else _PLAIN


def _only_ends_lines(text: bytes) -> bool:
    """Return whether each carriage return is followed by a newline."""
    return b"\r" not in text or text.count(b"\r") == text.count(b"\r\n")


@cached
def _follow(  # noqa: PLR0912 (the states of one pass over the bytes)
    memory: Int64s, text: NDArray[np.uint8], separator: int
) -> None:
    """Go through a block byte by byte, up to the first row that is not sound."""
    state, stray = memory[_STATE], memory[_STRAY]
    returned, begun = memory[_RETURNED], memory[_BEGUN]
    for byte in text:
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _AFTER_QUOTE
            continue
        if returned and byte != _NEWLINE:
            memory[_WRONG] = _RETURN_WRONG
            return
        begun, returned = 1, 0
        if stray % 2 and byte in (_NEWLINE, separator):
            memory[_WRONG] = _QUOTE_WRONG
            return
        if byte == _NEWLINE:
            memory[_ROWS] += 1
            state, stray, begun = _FIELD_START, 0, 0
        elif byte == separator:
            memory[_SEPARATORS] += 1
            state = _FIELD_START
        elif byte == _RETURN:
            returned = 1
        elif byte == _QUOTE:
            if state == _PLAIN:
                stray += 1
            else:
                state = _QUOTED
        elif state == _FIELD_START:
            state = _PLAIN
        elif state == _AFTER_QUOTE:
            memory[_WRONG] = _QUOTE_WRONG
            return
    memory[_STATE], memory[_STRAY] = state, stray
    memory[_RETURNED], memory[_BEGUN] = returned, begun
