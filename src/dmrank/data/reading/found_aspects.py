"""Which numeric columns are ratings, where nobody says so: counts, votes and times are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Float32s, Int64s

#: Ratings have no more different values, and reach no farther.
_MOST_VALUES: Final = 100
_WIDEST: Final = 100
_WORDS: Final = {
    "a count": "count counts num number numbers quantity",
    "a vote": "vote votes voted upvotes downvotes helpful unhelpful helpfulness likes dislikes",
    "a time": "time times timestamp timestamps datetime date dates year month week day hour unix "
    "epoch",
}
_MEANING: Final = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SLOT_BITS: Final = 8
_SLOTS: Final = 1 << _SLOT_BITS
_MULTIPLIER: Final = np.uint32(2654435769)  # 2³² over the golden ratio
_INFINITE: Final = np.uint32(0x7F800000)
_WITHOUT_SIGN: Final = np.uint32(0x7FFFFFFF)
#: The bits of a NaN, which is never noted.
_EMPTY: Final = np.uint32(0xFFFFFFFF)


def called_like(name: str) -> str:
    """Return what a column is called like, if that is no rating, or "".

    Examples
    --------
    >>> called_like("unixReviewTime"), called_like("helpful_votes"), called_like("value")
    ('a time', 'a vote', '')
    """
    meanings = [_MEANING.get(word.lower(), "") for word in _WORD.findall(name)]
    return next((meaning for meaning in reversed(meanings) if meaning), "")


class DifferentValues:
    """Notes the different values of columns, up to as many as ratings have.

    Examples
    --------
    >>> values = DifferentValues(["stars", "price"])
    >>> values.add(np.float32([[5, 120], [4, 7], [np.nan, 7]]))
    >>> values.unlike_ratings()
    {'price': 'from 7 to 120'}
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self._noted = np.full((len(columns), _SLOTS), _EMPTY, dtype=np.uint32)
        self._counts = np.zeros(len(columns), dtype=np.int64)
        self._least = np.full(len(columns), np.nan, dtype=np.float32)
        self._most = self._least.copy()

    def add(self, values: Float32s) -> None:
        """Take a batch of rows, one column each; NaN is no value."""
        _note(values.view(np.uint32), self._noted, self._counts)
        self._least = np.fmin(self._least, np.fmin.reduce(values, axis=0, initial=np.nan))
        self._most = np.fmax(self._most, np.fmax.reduce(values, axis=0, initial=np.nan))

    def unlike_ratings(self) -> dict[str, str]:
        """Return the columns that have other values than ratings have, and which.

        Many different values are those of ratings if they are on the scale of columns with few:
        what was extracted from text is beside stars.
        """
        least, most = self._least.astype(np.float64), self._most.astype(np.float64)
        wide, many = most - least > _WIDEST, self._counts > _MOST_VALUES
        plain = ~(wide | many | np.isnan(least))
        low, high = (least[plain].min(), most[plain].max()) if plain.any() else (np.inf, -np.inf)
        found = {}
        for k, name in enumerate(self.columns):
            if wide[k]:
                found[name] = f"from {least[k]:g} to {most[k]:g}"
            elif many[k] and not low <= least[k] <= most[k] <= high:
                found[name] = f"more than {_MOST_VALUES} different values"
        return found


@cached
def _note(values: NDArray[np.uint32], noted: NDArray[np.uint32], counts: Int64s) -> None:
    """Note the bits of values in an open-addressing table for each column, until it has enough."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            bits = values[row, column]
            # Numba multiplies 32 bits to 64.
            slot = np.int64(np.uint32(bits * _MULTIPLIER) >> np.uint32(32 - _SLOT_BITS))
            while noted[column, slot] != bits:
                if counts[column] > _MOST_VALUES or (bits & _WITHOUT_SIGN) > _INFINITE:
                    break
                if noted[column, slot] == _EMPTY:
                    noted[column, slot] = bits
                    counts[column] += 1
                else:
                    slot = (slot + 1) & (_SLOTS - 1)
