"""Keys of JSON lines and what kinds of values they have, over the whole file, by its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached, inlined
from dmrank.support.arrays import Int64s
from dmrank.support.errors import DataError

#: Kinds of values, as bits.
NUMBER: Final = 1
TEXT: Final = 2
TRUTH: Final = 4
NESTED: Final = 8
_TYPES: Final[dict[int, pl.DataType]] = {
    NUMBER: pl.Float64(),
    TRUTH: pl.Boolean(),
    NESTED: pl.Struct([]),
}
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_NEWLINE: Final = ord("\n")
# What a byte outside of strings means, besides the kinds of values.
_SPACE: Final = 16
_LINE_END: Final = 17
_COMMA: Final = 18
_CLOSE: Final = 19
_OTHER: Final = 20
_NO_SLOT: Final = np.int64(-1)
_MOST_KEYS: Final = 1 << 14
_SLOTS: Final = 4 * _MOST_KEYS
_OFFSET_BASIS: Final = np.uint64(14695981039346656037)
_PRIME: Final = np.uint64(1099511628211)


def _meanings() -> NDArray[np.uint8]:
    meanings = np.full(256, _OTHER, dtype=np.uint8)
    for bytes_, meaning in {
        b'"': TEXT, b"-0123456789": NUMBER, b"tf": TRUTH, b"{[": NESTED, b"}]": _CLOSE,
        b",": _COMMA, b" \t\r": _SPACE, b"\n": _LINE_END,
    }.items():  # fmt: skip
        meanings[list(bytes_)] = meaning
    return meanings


_MEANING: Final = _meanings()


class JsonKeys(NamedTuple):
    """What is in a file of JSON lines: its rows, and the kinds of values of each key."""

    rows: int
    kinds: dict[str, int]

    def schema(self) -> dict[str, pl.DataType]:
        """Return a type for each key: that of its values, or text if they have several."""
        return {key: _TYPES.get(kinds, pl.String()) for key, kinds in self.kinds.items()}

    def of_kinds(self, wanted: int) -> list[str]:
        """Return the keys that have a value of one of some kinds in any line."""
        return [key for key, kinds in self.kinds.items() if kinds & wanted]

    def with_numbers(self, keys: list[str]) -> list[str]:
        """Return those of some keys that have a number in any line."""
        return [key for key in keys if self.kinds[key] & NUMBER]


def find_keys(name: str, blocks: Iterable[bytes]) -> JsonKeys:
    r"""Find the keys of JSON lines, in the order of their appearance.

    What is not JSON is passed over: parsing it is for others.

    Examples
    --------
    >>> found = find_keys("r.jsonl", [b'{"user": "a", "r": 1}\n{"user": "b",', b' "s": null}\n'])
    >>> found.rows, found.kinds == {"user": TEXT, "r": NUMBER, "s": 0}
    (2, True)
    """
    finder = _Finder(name)
    pieces: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            finder.take(b"".join([*pieces, block[:end]]))
            pieces = []
        pieces.append(block[end:])
    finder.take(b"".join([*pieces, b"\n"]))
    return finder.finish()


class _Finder:
    """Keys by their hashes, and what is known of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.slots = np.zeros((_SLOTS, 2), dtype=np.uint64)
        self.kinds = np.zeros(_SLOTS, dtype=np.int64)
        self.found: list[tuple[str, int]] = []
        self.rows = self.lines = 0

    def take(self, text: bytes) -> None:
        """Note the keys of whole lines."""
        new = np.empty((_MOST_KEYS - len(self.found), 3), dtype=np.int64)
        array = np.frombuffer(text, dtype=np.uint8)
        done = _scan(array, self.slots, self.kinds, new, self.lines)
        rows, self.lines, count, repeated = map(int, done)
        if repeated:
            raise DataError(
                f"{self.name}: line {self.lines + 1:,} names a key twice: name each key once"
            )
        if count > len(new):
            raise DataError(
                f"{self.name} has more than {_MOST_KEYS:,} different keys: each line should be one "
                "review with the same few keys"
            )
        self.rows += rows
        self.found += [
            (_decoded(text[start:end]), slot) for start, end, slot in new[:count].tolist()
        ]

    def finish(self) -> JsonKeys:
        """Return the keys in the order of their appearance."""
        kinds = {key: 0 for key, _ in self.found}
        for key, slot in self.found:
            kinds[key] |= int(self.kinds[slot])  # a key may be escaped here and plain there
        return JsonKeys(self.rows, kinds)


def _decoded(key: bytes) -> str:
    try:
        return str(json.loads(b'"' + key + b'"'))
    except ValueError:
        return key.decode(errors="replace")


@cached
def _scan(  # noqa: PLR0912 (the states of one pass over the bytes)
    text: NDArray[np.uint8], slots: NDArray[np.uint64], kinds: Int64s, new: Int64s, line: int
) -> tuple[int, int, int, bool]:
    """Note the keys of the outermost objects, after so many lines.

    Returns lines that are not blank, lines up to here, new keys, and whether the line where it
    ends names a key twice.
    """
    rows, count, depth, at = 0, 0, 0, 0
    blank, is_key = True, False
    slot = _NO_SLOT  # of the key whose value comes next
    while at < len(text):
        meaning = _MEANING[text[at]]
        if meaning == _LINE_END:
            rows += not blank
            line += 1
            depth, blank, is_key, slot = 0, True, False, _NO_SLOT
        elif meaning != _SPACE:
            blank = False
            start = at + 1
            if meaning == TEXT:
                at = _string_end(text, start)
                if text[at] == _NEWLINE:
                    continue
            if meaning == TEXT and is_key:
                slot, is_key = _slot(text, start, at, slots), False
                last_line = slots[slot, 1]
                slots[slot, 1] = line + 1
                if last_line == line + 1:
                    return rows, line, count, True
                if last_line == 0:
                    if count == len(new):
                        return rows, line, count + 1, False
                    new[count, 0], new[count, 1], new[count, 2] = start, at, slot
                    count += 1
            elif meaning == _COMMA:
                is_key, slot = depth == 1, _NO_SLOT
            elif meaning == _CLOSE:
                depth -= 1
            elif meaning < _SPACE:
                if slot != _NO_SLOT and depth == 1:
                    kinds[slot] |= meaning
                    slot = _NO_SLOT
                if meaning == NESTED:
                    depth += 1
                    is_key = depth == 1 and text[at] == ord("{")
        at += 1
    return rows, line, count, False


@inlined
def _string_end(text: NDArray[np.uint8], at: int) -> int:
    """Return where the closing quote is, or the end of the line where there is none."""
    # Every text ends in a newline, so that there is always a next byte.
    while text[at] != _QUOTE and text[at] != _NEWLINE:
        at += 2 if text[at] == _BACKSLASH and text[at + 1] != _NEWLINE else 1
    return at


@inlined
def _slot(text: NDArray[np.uint8], start: int, end: int, slots: NDArray[np.uint64]) -> np.int64:
    """Return the place of a key in an open-addressing table, by its hash (FNV-1a)."""
    code = _OFFSET_BASIS
    for at in range(start, end):
        code = (code ^ np.uint64(text[at])) * _PRIME
    slot = np.int64(code & np.uint64(_SLOTS - 1))
    while slots[slot, 1] != 0 and slots[slot, 0] != code:
        slot = (slot + 1) & (_SLOTS - 1)
    slots[slot, 0] = code
    return slot
