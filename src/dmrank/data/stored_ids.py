"""Ids as the bytes of a file, of which only those that are asked for become text.

Millions of ids take longer to read than a list, and more memory than all else that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dmrank.support.arrays import Array, Codes, Int32s, Int64s
from dmrank.support.large_arrays import large_array

#: One of them stands between texts that do not have it.
_LETTERS: Final = [bytes([letter]) for letter in range(128)]
_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class StoredIds:
    """UTF-8 texts one after the other, and where each ends.

    Examples
    --------
    >>> ids = StoredIds.of(pl.Series(["ann", "bob", "carl"]))
    >>> ids.some(np.array([2, 0])).to_list(), ids.search(pl.Series(["bob", "dora"])).tolist()
    (['carl', 'ann'], [1, -1])
    """

    text: Array
    ends: Int64s

    @classmethod
    def of(cls, texts: pl.Series) -> StoredIds:
        """Make the bytes of texts."""
        ends, total = large_array(len(texts), np.int64), 0
        for first in range(0, len(texts), _AT_ONCE):
            own = slice(first, first + _AT_ONCE)
            ends[own] = total + np.cumsum(texts[own].str.len_bytes().to_numpy(), dtype=np.int64)
            total = int(ends[own][-1])
        text, start = large_array(total, np.uint8), 0
        for first in range(0, len(texts), _AT_ONCE):
            joined = "".join(texts[first : first + _AT_ONCE]).encode()
            text[start : start + len(joined)] = np.frombuffer(joined, dtype=np.uint8)
            start += len(joined)
        return cls(text, ends)

    def read(self) -> pl.Series:
        """Return all texts, without a Python string for each of millions.

        What is no UTF-8 raises a UnicodeDecodeError, here and wherever texts are looked at.
        """
        blocks = map(self._block, range(0, len(self.ends), _AT_ONCE))
        return pl.concat([pl.Series([], dtype=pl.String), *blocks])

    def some(self, codes: Codes) -> pl.Series:
        """Return the texts at some places."""
        codes = np.asarray(codes)
        stops = self.ends[codes].tolist()
        starts = np.where(codes > 0, self.ends[codes - 1], 0).tolist()
        joined = [self.text[a:b].tobytes().decode() for a, b in zip(starts, stops, strict=True)]
        return pl.Series(joined, dtype=pl.String)

    def are_ascending(self) -> bool:
        """Return whether every text is above the one before; reads all, a block at a time."""
        last = ""
        for first in range(0, len(self.ends), _AT_ONCE):
            block = self._block(first)
            if (first and block[0] <= last) or not (block.shift(1) < block).slice(1).all():
                return False
            last = block[-1]
        return True

    def search(self, texts: pl.Series) -> Int32s:
        """Return the places of texts among ascending ones, −1 for those that are not there."""
        low, high = np.zeros(len(texts), np.int64), np.full(len(texts), len(self.ends))
        while (low < high).any():
            middle = np.minimum((low + high) // 2, len(self.ends) - 1)
            is_below = (self.some(middle) < texts).to_numpy() & (low < high)
            high = np.where(is_below, high, np.minimum(middle, high))
            low = np.where(is_below, middle + 1, low)
        places = np.minimum(low, len(self.ends) - 1)
        return np.where((self.some(places) == texts).to_numpy(), places, -1).astype(np.int32)

    def equals(self, texts: pl.Series) -> bool:
        """Return whether these are the texts, a block at a time."""
        return len(self.ends) == len(texts) and all(
            self._block(first).equals(texts[first : first + _AT_ONCE])
            for first in range(0, len(texts), _AT_ONCE)
        )

    def _block(self, first: int) -> pl.Series:
        ends = self.ends[first : first + _AT_ONCE].tolist()
        start = int(self.ends[first - 1]) if first else 0
        joined = self.text[start : ends[-1]].tobytes()
        own = zip([0, *(end - start for end in ends[:-1])], ends, strict=True)
        texts = (joined[a : b - start] for a, b in own)
        between = next((letter for letter in _LETTERS if letter not in joined), None)
        if between is None:
            return pl.Series([text.decode() for text in texts], dtype=pl.String)
        # A letter that none has stands between them; what is cut within a letter is no text.
        text_of_all = between.join(texts).decode()
        return pl.Series([text_of_all]).str.split(between.decode()).explode()
