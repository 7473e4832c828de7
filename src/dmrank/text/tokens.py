"""From the bytes of many texts to words, in one pass.

Words are lower-cased (A–Z only) and told apart by a 64-bit hash: among a million different words
two share one with probability 3·10⁻⁸. A hyphen within a word separates ("check-in" is two words),
an apostrophe does not ("didn't"), and a final 's is dropped. Tags such as <br> and <p> end a
sentence, others are skipped. An emoji is a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Int64s

#: In place of a word's hash: where a sentence ends, and where a clause does.
SENTENCE_END: Final = 0
CLAUSE_END: Final = 1

_START, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
_LONGEST_TAG: Final = 200
# What a character is that is no letter.
_NOTHING, _CLAUSE, _SENTENCE, _EMOJI = 0, 1, 2, 3
_APOSTROPHE, _HYPHEN, _POINT, _SPACE, _TAG = (ord(mark) for mark in "'-. <")


def _fold_table() -> NDArray[np.uint8]:
    """Return what each byte is in a word: itself or its lower case, 0 where it is in none."""
    table = np.zeros(256, dtype=np.uint8)
    for byte in (*b"abcdefghijklmnopqrstuvwxyz0123456789", *range(0x80, 0x100)):
        table[byte] = byte
    for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[byte] = byte + 32
    # First bytes of punctuation and symbols in UTF-8: they are looked at on their own.
    table[[0xC2, 0xE2, 0xEF, 0xF0]] = 0
    return table


def _break_table() -> NDArray[np.uint8]:
    """Return which bytes end a clause or a sentence."""
    table = np.full(256, _NOTHING, dtype=np.uint8)
    table[list(b",:()[]")] = _CLAUSE
    table[list(b".!?;\n\r")] = _SENTENCE
    return table


_FOLD, _BREAK = _fold_table(), _break_table()


@dataclass(frozen=True)
class Tokens:
    """The words of many texts, and where sentences and clauses end.

    Attributes
    ----------
    text : uint8 array
        The bytes of all texts, one after the other.
    hashes : uint64 array
        What each token is; SENTENCE_END and CLAUSE_END are no words.
    starts, ends : int64 array
        Where in `text` each token is.
    pointer : int64 array, rows + 1
        Tokens of text r are `pointer[r]` to `pointer[r + 1]`; the last one ends a sentence.
    foreign : int64 array, rows
        Number of bytes of letters beyond ASCII in each text.
    """

    text: NDArray[np.uint8]
    hashes: NDArray[np.uint64]
    starts: Int64s
    ends: Int64s
    pointer: Int64s
    foreign: Int64s

    def spelling(self, token: int) -> str:
        """Return a token as it is looked up: in lower case, without a final 's."""
        raw = self.text[self.starts[token] : self.ends[token]].tobytes()
        # Lower-cased as bytes, because only A–Z are.
        word = raw.lower().decode("utf-8", errors="replace").replace("’", "'")
        return word.removesuffix("'s")


def join_texts(texts: pl.Series) -> tuple[NDArray[np.uint8], Int64s]:
    """Return the bytes of all texts (no nulls) one after the other, and where each begins."""
    pointer = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy(), out=pointer[1:])
    joined = texts.str.join("").item() if len(texts) else ""
    return np.frombuffer(joined.encode(), dtype=np.uint8), pointer


def tokenize(text: NDArray[np.uint8], pointer: Int64s) -> Tokens:
    """Split texts, given as by :func:`join_texts`.

    Examples
    --------
    >>> tokens = tokenize(*join_texts(pl.Series(["The hotel's bed isn't clean, but", "cheap."])))
    >>> [tokens.spelling(t) for t in range(tokens.pointer[1])]
    ['the', 'hotel', 'bed', "isn't", 'clean', ',', 'but', '']
    >>> tokens.hashes[5] == CLAUSE_END, tokens.hashes[7] == SENTENCE_END
    (np.True_, np.True_)
    """
    rows = len(pointer) - 1
    most = int(pointer[-1] - pointer[0]) + rows
    hashes = np.empty(most, dtype=np.uint64)
    starts, ends = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    tokens, foreign = np.empty(rows + 1, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    count = _split(text, pointer, _FOLD, _BREAK, (hashes, starts, ends, tokens, foreign))
    return Tokens(text, hashes[:count], starts[:count], ends[:count], tokens, foreign)


@cached
def _is_letter(byte: int) -> bool:
    return 97 <= (byte | 32) <= 122


@cached
def _apostrophe_at(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return how many bytes the apostrophe between two letters has, 0 if there is none."""
    if text[at] == _APOSTROPHE and at + 1 < end and _is_letter(text[at + 1]):
        return 1
    if (
        text[at] == 0xE2
        and at + 3 < end
        and text[at + 1] == 0x80
        and text[at + 2] == 0x99
        and _is_letter(text[at + 3])
    ):
        return 3
    return 0


@cached
def _read_word(
    text: NDArray[np.uint8], start: int, end: int, fold: NDArray[np.uint8]
) -> tuple[Any, Any, Any]:
    """Return the hash of the word at `start`, where it ends, and its bytes beyond ASCII."""
    value, before, apostrophe = _START, _START, -1
    at, foreign = start, 0
    while at < end:
        byte = fold[text[at]]
        if byte:
            value = (value ^ np.uint64(byte)) * _PRIME
            foreign += byte >= 0x80
            at += 1
            continue
        width = _apostrophe_at(text, at, end)
        if width == 0:
            break
        before, apostrophe = value, at + width - 1
        value = (value ^ np.uint64(_APOSTROPHE)) * _PRIME
        at += width
    if apostrophe >= 0 and at - apostrophe == 2 and (text[at - 1] | 32) == ord("s"):
        value = before
    return value, at, foreign


@cached
def _tag_at(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return how many bytes the tag that begins here has, 0 if it is no tag."""
    if at + 1 >= end or not (_is_letter(text[at + 1]) or text[at + 1] == ord("/")):
        return 0
    for last in range(at + 1, min(end, at + _LONGEST_TAG)):
        if text[last] == ord(">"):
            return last - at + 1
    return 0


@cached
def _is_block(text: NDArray[np.uint8], at: int) -> bool:
    """Whether the tag whose name begins here begins a new line: br, p, div, li, ul, ol, t…, h…."""
    if text[at] == ord("/"):
        at += 1
    first, second = text[at] | 32, text[at + 1] | 32
    if first == ord("b"):
        return second == ord("r")
    if first == ord("p"):
        return not _is_letter(second)
    if first in (ord("u"), ord("o")):
        return second == ord("l")
    return first in (ord("d"), ord("l"), ord("t"), ord("h"))


@cached
def _read_symbol(text: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Return what a character beyond ASCII is that is no letter, and how many bytes it has."""
    first = text[at]
    width = 4 if first == 0xF0 else 2 if first == 0xC2 else 3 if first >= 0xE0 else 1
    if at + width > end:
        return _NOTHING, 1
    kind = _EMOJI if width == 4 else _NOTHING
    if first == 0xE2:
        second, third = text[at + 1], text[at + 2]
        if 0x98 <= second <= 0x9E:
            kind = _EMOJI
        elif second == 0x80 and 0x93 <= third <= 0x94:  # dashes
            kind = _CLAUSE
        elif second == 0x80 and third == 0xA6:  # an ellipsis
            kind = _SENTENCE
    return kind, width


@cached
def _read_other(
    text: NDArray[np.uint8], at: int, end: int, breaks: NDArray[np.uint8]
) -> tuple[int, int]:
    """Return what is here instead of a letter, and how many bytes it has."""
    byte, following = text[at], text[at + 1] if at + 1 < end else _SPACE
    kind, width = breaks[byte], 1
    if byte == _POINT and ord("0") <= following <= ord("9"):
        kind = _NOTHING
    elif byte == _HYPHEN and (at == 0 or text[at - 1] <= _SPACE or following <= _SPACE):
        kind = _CLAUSE
    elif byte == _TAG:
        width = max(_tag_at(text, at, end), 1)
        kind = _SENTENCE if width > 1 and _is_block(text, at + 1) else _NOTHING
    elif byte >= 0x80:
        kind, width = _read_symbol(text, at, end)
    return kind, width


@cached
def _split(
    text: NDArray[np.uint8],
    pointer: Int64s,
    fold: NDArray[np.uint8],
    breaks: NDArray[np.uint8],
    found: tuple[NDArray[np.uint64], Int64s, Int64s, Int64s, Int64s],
) -> int:
    """Write hashes, starts and ends of all tokens, where texts begin, and their foreign letters."""
    hashes, starts, ends, tokens, foreign = found
    count = 0
    for row in range(len(pointer) - 1):
        tokens[row] = count
        at, end = pointer[row], pointer[row + 1]
        while at < end:
            starts[count] = at
            if fold[text[at]]:
                hashes[count], at, beyond = _read_word(text, at, end, fold)
                foreign[row] += beyond
                ends[count] = at
                count += 1
                continue
            kind, width = _read_other(text, at, end, breaks)
            value = np.uint64(SENTENCE_END if kind == _SENTENCE else CLAUSE_END)
            if kind == _EMOJI:
                value = _START
                for byte in text[at : at + width]:
                    value = (value ^ np.uint64(byte)) * _PRIME
            at += width
            if kind != _NOTHING:
                hashes[count], ends[count] = value, at
                count += 1
        hashes[count], starts[count], ends[count] = np.uint64(SENTENCE_END), end, end
        count += 1
    tokens[len(pointer) - 1] = count
    return count
