"""Which words are known, and phrases that count as one word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Int32s, Int64s
from dmrank.text.tokens import CLAUSE_END, SENTENCE_END, Tokens, join_texts, tokenize

#: Codes of tokens that are no known word.
UNKNOWN: Final = -1
CLAUSE_BREAK: Final = -2
SENTENCE_BREAK: Final = -3


@dataclass(frozen=True)
class WordCodes:
    """Tokens as codes of a vocabulary; a phrase is one token.

    Attributes
    ----------
    words : int32 array
        The code of each token, or UNKNOWN, CLAUSE_BREAK or SENTENCE_BREAK.
    starts, ends : int64 array
        Where in the text each token is.
    pointer : int64 array, rows + 1
        Tokens of text r are `pointer[r]` to `pointer[r + 1]`.
    """

    words: Int32s
    starts: Int64s
    ends: Int64s
    pointer: Int64s


def split_entries(entries: Sequence[str]) -> list[tuple[str, ...]]:
    """Split entries of a lexicon into words as texts are split.

    Examples
    --------
    >>> split_entries(["check-in", "stone's throw", "Wi-Fi"])
    [('check', 'in'), ('stone', 'throw'), ('wi', 'fi')]
    """
    tokens = tokenize(*join_texts(pl.Series(list(entries), dtype=pl.String)))
    is_word = tokens.hashes > CLAUSE_END
    return [
        tuple(tokens.spelling(t) for t in range(first, last) if is_word[t])
        for first, last in zip(tokens.pointer[:-1], tokens.pointer[1:], strict=True)
    ]


class Vocabulary:
    """Words and phrases with codes.

    Parameters
    ----------
    entries : iterable of str
        Words and phrases; the single words of a phrase become known as well.

    Examples
    --------
    >>> vocabulary = Vocabulary(["room", "walking distance"])
    >>> tokens = tokenize(*join_texts(pl.Series(["A room within Walking distance!"])))
    >>> [vocabulary.name(code) for code in vocabulary.encode(tokens).words if code >= 0]
    ['room', 'walking distance']
    """

    def __init__(self, entries: Iterable[str]) -> None:
        given = list(dict.fromkeys(entries))
        split = split_entries(given)
        words = sorted({word for entry in split for word in entry})
        phrases = sorted({entry for entry in split if len(entry) > 1})
        self.names = words + [" ".join(phrase) for phrase in phrases]
        self.code_of = {name: code for code, name in enumerate(self.names)}
        # Entries as they were spelled, so that they are split only once.
        self._code_of_entry = {
            entry: self.code_of.get(" ".join(parts), UNKNOWN)
            for entry, parts in zip(given, split, strict=True)
        }
        self._table = _hash_table(words)
        self._trie = _make_trie([[self.code_of[w] for w in p] for p in phrases], len(words))

    def __len__(self) -> int:
        return len(self.names)

    def name(self, code: int) -> str:
        """Return the word or phrase of a code."""
        return self.names[code]

    def code(self, entry: str) -> int:
        """Return the code of an entry as a lexicon spells it, or −1 if it is not known."""
        if entry in self._code_of_entry:
            return self._code_of_entry[entry]
        return self.code_of.get(" ".join(split_entries([entry])[0]), UNKNOWN)

    def codes(self, entries: Sequence[str]) -> list[int]:
        """Return the codes of many entries."""
        return [self.code(entry) for entry in entries]

    def encode(self, tokens: Tokens) -> WordCodes:
        """Look every token up; of several phrases that begin at a word the longest counts."""
        single = np.empty(len(tokens.hashes), dtype=np.int32)
        keys, values = self._table
        _look_up(tokens.hashes, keys, values, single)
        codes = np.empty_like(single)
        starts, ends = np.empty_like(tokens.starts), np.empty_like(tokens.ends)
        pointer = np.empty_like(tokens.pointer)
        count = _merge_phrases(
            (single, tokens.starts, tokens.ends, tokens.pointer),
            self._trie,
            (codes, starts, ends, pointer),
        )
        return WordCodes(codes[:count], starts[:count], ends[:count], pointer)


def _hash_table(words: Sequence[str]) -> tuple[NDArray[np.uint64], Int32s]:
    """Return an open-addressing table from the hash of a word to its position."""
    tokens = tokenize(*join_texts(pl.Series(list(words), dtype=pl.String)))
    hashes = tokens.hashes[tokens.pointer[:-1]]
    size = 1 << int(np.ceil(np.log2(max(3 * len(words), 8))))
    keys, values = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int32)
    _insert(hashes, keys, values)
    return keys, values


Trie = tuple[Int32s, Int32s, Int32s, Int32s, Int32s]


def _make_trie(phrases: Sequence[Sequence[int]], n_words: int) -> Trie:
    """Return a trie: the state after each first word, edges of a state, the phrase it ends."""
    children: list[dict[int, int]] = [{}]
    phrase = [UNKNOWN]
    for number, words in enumerate(phrases):
        state = 0
        for word in words:
            if word not in children[state]:
                children[state][word] = len(children)
                children.append({})
                phrase.append(UNKNOWN)
            state = children[state][word]
        phrase[state] = n_words + number
    first = np.full(n_words, UNKNOWN, dtype=np.int32)
    for word, state in children[0].items():
        first[word] = state
    edges = np.cumsum([0, *(len(c) for c in children)]).astype(np.int32)
    words_of = np.array([w for c in children for w in c], dtype=np.int32)
    targets = np.array([s for c in children for s in c.values()], dtype=np.int32)
    return first, edges, words_of, targets, np.array(phrase, dtype=np.int32)


@cached
def _insert(hashes: NDArray[np.uint64], keys: NDArray[np.uint64], values: Int32s) -> None:
    mask = np.uint64(len(keys) - 1)
    for code in range(len(hashes)):
        slot = hashes[code] & mask
        while keys[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        keys[slot], values[slot] = hashes[code], code


@cached
def _look_up(
    hashes: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    values: Int32s,
    codes: Int32s,
) -> None:
    mask = np.uint64(len(keys) - 1)
    for token in range(len(hashes)):
        wanted = hashes[token]
        if wanted <= CLAUSE_END:
            codes[token] = SENTENCE_BREAK if wanted == SENTENCE_END else CLAUSE_BREAK
            continue
        slot = wanted & mask
        while keys[slot] != wanted and keys[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        codes[token] = values[slot] if keys[slot] == wanted else UNKNOWN


@cached
def _merge_phrases(
    words_alone: tuple[Int32s, Int64s, Int64s, Int64s],
    trie: Trie,
    merged: tuple[Int32s, Int64s, Int64s, Int64s],
) -> int:
    """Write codes, starts, ends and pointer with the words of each phrase as one."""
    single, single_starts, single_ends, single_pointer = words_alone
    first, edges, words, targets, phrase = trie
    codes, starts, ends, pointer = merged
    count = 0
    for row in range(len(single_pointer) - 1):
        pointer[row] = count
        token, end = single_pointer[row], single_pointer[row + 1]
        while token < end:
            code, last = single[token], token
            state = first[code] if code >= 0 else UNKNOWN
            at = token
            while state >= 0:
                if phrase[state] >= 0:
                    code, last = phrase[state], at
                at += 1
                following = UNKNOWN
                for edge in range(edges[state], edges[state + 1]):
                    if words[edge] == single[at]:
                        following = targets[edge]
                state = following
            codes[count] = code
            starts[count], ends[count] = single_starts[token], single_ends[last]
            count += 1
            token = last + 1
        # The last token of a row is the end of a sentence, which is in no phrase.
    pointer[len(single_pointer) - 1] = count
    return count
