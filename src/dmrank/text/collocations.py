"""Which words stand beside which: the statistics that aspects are found by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Float32s, Int32s, Int64s
from dmrank.text.english import english
from dmrank.text.tokens import join_texts, tokenize
from dmrank.text.vocabulary import Vocabulary

_ROWS: Final = 512
#: How far around a word its company is, in words.
_WINDOW: Final = 4
#: An opinion follows a noun within so many words ("the pool was really great").
_PREDICATE_REACH: Final = 4

_DETERMINERS: Final = "the a an our their its this that my his her your these those every each no"
_SUBJECTS: Final = "to i we you he she they will would can could should may might must did do don't"
_COPULAS: Final = "is was are were be been being seemed looked felt"

_DETERMINER, _SUBJECT, _COPULA, _OPINION, _FUNCTION, _DEGREE = 1, 2, 4, 8, 16, 32


@dataclass(frozen=True)
class Positions:
    """How often each word of a vocabulary stands where.

    Attributes
    ----------
    total : int64 array
        Its occurrences.
    after_determiner, after_subject : int64 array
        Those after "the", "our" and so on; after "to", "we", "could" and so on.
    beside_opinion : int64 array
        Those right after an opinion, or with "is" or "was" and then an opinion after them.
    as_predicate : int64 array
        Those right after "is", "was", "very" and so on.
    """

    total: Int64s
    after_determiner: Int64s
    after_subject: Int64s
    beside_opinion: Int64s
    as_predicate: Int64s


def find_positions(texts: pl.Series, vocabulary: Vocabulary) -> Positions:
    """Count where every word stands.

    Examples
    --------
    >>> vocabulary = Vocabulary(["pool", *english().entries()])
    >>> found = find_positions(pl.Series(["The great pool. Our pool was so great!"]), vocabulary)
    >>> code = vocabulary.code("pool")
    >>> int(found.total[code]), int(found.after_determiner[code]), int(found.beside_opinion[code])
    (2, 1, 2)
    """
    kinds = _kinds(vocabulary)
    counts = np.zeros((5, len(vocabulary)), dtype=np.int64)
    for words in _blocks(texts, vocabulary):
        _count_positions(words, kinds, counts)
    return Positions(*counts)


def company_of(texts: pl.Series, vocabulary: Vocabulary, candidates: Int64s) -> Float32s:
    """Return the content words around each of some words, as unit vectors over the vocabulary.

    The entry of v in the vector of w is max(0, ln(p(v | w) / p(v))), shrunk where it is rare.
    """
    size = len(vocabulary)
    row = np.full(size, -1, dtype=np.int64)
    row[candidates] = np.arange(len(candidates))
    kinds = _kinds(vocabulary)
    counts = sparse.csr_array((len(candidates), size), dtype=np.float64)
    for words in _blocks(texts, vocabulary):
        left, right = _pairs(words, row, kinds)
        ones = np.ones(len(left))
        counts = counts + sparse.csr_array((ones, (left, right)), shape=counts.shape)
    return _associations(counts).toarray().astype(np.float32)


def _associations(counts: sparse.csr_array) -> sparse.csr_array:
    table = sparse.coo_array(counts)
    rows, columns = table.coords
    total = float(table.data.sum())
    of_row = np.bincount(rows, table.data, counts.shape[0])
    of_column = np.bincount(columns, table.data, counts.shape[1])
    # A context word seen once or twice says nothing about a word; its association is shrunk.
    trust = table.data / (table.data + 5.0)
    ratio = table.data * total / (of_row[rows] * of_column[columns])
    values = np.maximum(np.log(ratio), 0.0) * trust
    lengths = np.sqrt(np.bincount(rows, values**2, counts.shape[0]))
    unit = values / np.maximum(lengths[rows], 1e-12)
    return sparse.csr_array((unit, (rows, columns)), shape=counts.shape)


def _blocks(texts: pl.Series, vocabulary: Vocabulary) -> list[Int32s]:
    return [
        vocabulary.encode(tokenize(*join_texts(texts[start : start + _ROWS]))).words
        for start in range(0, len(texts), _ROWS)
    ]


def _kinds(vocabulary: Vocabulary) -> NDArray[np.uint8]:
    known = english()
    kinds = np.zeros(len(vocabulary), dtype=np.uint8)
    opinions = {word for word, polarity in known.polarity.items() if polarity}
    skipped = known.function_words | known.intensity.keys() | known.contrasts
    for bit, words in (
        (_DETERMINER, set(_DETERMINERS.split())),
        (_SUBJECT, set(_SUBJECTS.split())),
        (_COPULA, set(_COPULAS.split())),
        (_OPINION, opinions),
        (_FUNCTION, skipped),
        (_DEGREE, set(known.intensity)),
    ):
        codes = np.array(vocabulary.codes(sorted(words)))
        kinds[codes[codes >= 0]] |= bit
    return kinds


@cached
def _count_positions(words: Int32s, kinds: NDArray[np.uint8], counts: Int64s) -> None:
    """Add to the rows of `counts`, which are the fields of :class:`Positions`."""
    for token in range(len(words)):
        word = words[token]
        if word < 0:
            continue
        counts[0, word] += 1
        before = words[token - 1] if token > 0 else -1
        if before >= 0:
            counts[1, word] += (kinds[before] & _DETERMINER) > 0
            counts[2, word] += (kinds[before] & _SUBJECT) > 0
            counts[4, word] += (kinds[before] & (_COPULA | _DEGREE)) > 0
        praised = before >= 0 and (kinds[before] & _OPINION) > 0
        is_copula = False
        for later in range(token + 1, min(token + 1 + _PREDICATE_REACH, len(words))):
            other = words[later]
            if other < -1:
                break
            if later == token + 1:
                is_copula = other >= 0 and (kinds[other] & _COPULA) > 0
            elif is_copula and other >= 0 and kinds[other] & _OPINION:
                praised = True
        counts[3, word] += praised


@cached
def _pairs(words: Int32s, row: Int64s, kinds: NDArray[np.uint8]) -> tuple[Int64s, Int64s]:
    """Return the row of every wanted word with each content word around it."""
    most = 2 * _WINDOW * len(words)
    left, right = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    count = 0
    for token in range(len(words)):
        word = words[token]
        if word < 0 or row[word] < 0:
            continue
        for step in (-1, 1):
            other = token + step
            while 0 <= other < len(words) and abs(other - token) <= _WINDOW and words[other] >= -1:
                beside = words[other]
                if beside >= 0 and not kinds[beside] & _FUNCTION and beside != word:
                    left[count], right[count] = row[word], beside
                    count += 1
                other += step
    return left[:count].copy(), right[:count].copy()
